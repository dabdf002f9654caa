"""Writes the OpenEXR images of this folder: luminance and chroma, by each way of compression. Needs OpenEXR and NumPy."""

import Imath
import numpy
import OpenEXR

WIDTH, HEIGHT = 16, 40
COLOR = numpy.array([1.0, 0.5, 0.25])
WEIGHTS = numpy.array([0.2126, 0.7152, 0.0722])

rows, columns = numpy.mgrid[0:HEIGHT, 0:WIDTH]
brightness = (columns + 1) / 16.0 * (1 + (rows % 8) / 8.0)
luminance = COLOR @ WEIGHTS
values = (brightness * luminance).astype(numpy.float16)
chroma = {}
for name, part in (("RY", COLOR[0]), ("BY", COLOR[2])):
    chroma[name] = numpy.full((HEIGHT // 2, WIDTH // 2), part / luminance - 1, numpy.float16)
    # The right half is grey.
    chroma[name][:, WIDTH // 4 :] = 0

half = Imath.PixelType(Imath.PixelType.HALF)
for kind in ("NO", "RLE", "ZIPS", "ZIP", "PIZ", "PXR24", "B44"):
    header = OpenEXR.Header(WIDTH, HEIGHT)
    header["channels"] = {
        "Y": Imath.Channel(half, 1, 1),
        "RY": Imath.Channel(half, 2, 2),
        "BY": Imath.Channel(half, 2, 2),
    }
    header["compression"] = Imath.Compression(getattr(Imath.Compression, kind + "_COMPRESSION"))
    name = "none" if kind == "NO" else kind.lower()
    file = OpenEXR.OutputFile(name + ".exr", header)
    # Of more lines at a time, the binding reads the chroma from wrong places.
    for row in range(0, HEIGHT, 2):
        lines = {"Y": values[row : row + 2].tobytes()}
        lines |= {name: part[row // 2].tobytes() for name, part in chroma.items()}
        file.writePixels(lines, 2)
    file.close()
