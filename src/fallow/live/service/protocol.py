"""HTTP as uvicorn reads it, with headers that end."""

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

MOST_BYTES = 65_536
"""Of headers; what comes at once, up to 256 kB, is read all the same."""
REFUSAL = b'{"error":"a request must be HTTP/1.1, with headers of at most %d bytes"}' % MOST_BYTES


class Protocol(HttpToolsProtocol):
    """Refuses headers that do not end, and in JSON what is no HTTP."""

    _unfinished = 0
    """Bytes that came since headers were complete, or some of a body."""

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        self._unfinished += len(data)
        super().data_received(data)
        if self._unfinished > MOST_BYTES and not self.transport.is_closing():
            self.send_400_response("")

    def on_headers_complete(self) -> None:
        """Take in headers."""
        self._unfinished = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take in some of the body, which has a limit of its own."""
        self._unfinished = 0
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Refuse a request, and close the connection."""
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[400] + head % len(REFUSAL) + REFUSAL)
        self.transport.close()
