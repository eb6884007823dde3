"""HTTP as uvicorn reads it, with headers that end."""

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

MOST_BYTES = 65_536
"""Of headers; what comes at once, up to 256 kB, is read all the same."""
REFUSAL = b'{"error":"a request must be HTTP/1.1, with headers of at most %d bytes"}' % MOST_BYTES


class Protocol(HttpToolsProtocol):
    """Refuses headers that do not end, and in JSON what is no HTTP."""

    _unfinished = 0
    """Bytes that came since headers began."""

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        super().data_received(data)
        if self.cycle is not None and self.cycle.scope is self.scope:
            self._unfinished = 0  # the headers of the latest request are complete
            return
        self._unfinished += len(data)
        if self._unfinished > MOST_BYTES and not self.transport.is_closing():
            self.send_400_response("")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take in a header, but not `Range`: files are small and sent whole."""
        if name.lower() != b"range":
            super().on_header(name, value)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002, uvicorn's
        """Refuse a request, and close the connection."""
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[400] + head % len(REFUSAL) + REFUSAL)
        self.transport.close()
