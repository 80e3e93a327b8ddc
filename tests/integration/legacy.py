"""Backups as servers before 2.15 made them: a tar of a stream's files in an S2 stream. Made here from a directory."""
import io, os, struct, tarfile

CRC = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    CRC.append(n)


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def s2_stored(data, block=60_000):
    """A framed stream whose blocks are not compressed."""
    out = [b"\xff\x06\x00\x00S2sTwO"]
    for at in range(0, len(data), block):
        piece = data[at:at + block]
        out.append(struct.pack("<I", (len(piece) + 4) << 8 | 1) + struct.pack("<I", masked_crc32c(piece)) + piece)
    return b"".join(out)


def archive(stream_directory, with_index=True):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        def add(name):
            with open(f"{stream_directory}/{name}", "rb") as f:
                content = f.read()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
        add("meta.inf")
        add("meta.sum")
        blocks = sorted((f for f in os.listdir(f"{stream_directory}/msgs") if f.endswith(".blk")), key=lambda f: int(f[:-4]))
        if with_index and os.path.exists(f"{stream_directory}/msgs/index.db"):
            add("msgs/index.db")
        for block in blocks:
            add(f"msgs/{block}")
        for consumer in sorted(os.listdir(f"{stream_directory}/obs")):
            for name in ("meta.inf", "meta.sum", "o.dat"):
                if os.path.exists(f"{stream_directory}/obs/{consumer}/{name}"):
                    add(f"obs/{consumer}/{name}")
    return s2_stored(out.getvalue())
