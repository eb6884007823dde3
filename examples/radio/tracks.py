"""Make tracks to try the radio with: a folder of tones, one for each name.

python tracks.py tracks hymn.wav waltz.wav polka.wav
"""

import argparse
import math
import wave
from pathlib import Path

RATE = 44_100


def write_tone(path: Path, hertz: float, seconds: float) -> None:
    """Write a quiet tone as a WAV file."""
    times = (sample / RATE for sample in range(round(RATE * seconds)))
    heights = (round(8000 * math.sin(2 * math.pi * hertz * time)) for time in times)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(b"".join(height.to_bytes(2, "little", signed=True) for height in heights))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write tones, each a whole tone above the last.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--seconds", type=float, default=1.0, help="How long each is.")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for step, name in enumerate(arguments.names):
        write_tone(arguments.folder / name, 220 * 2 ** (step / 6), arguments.seconds)
