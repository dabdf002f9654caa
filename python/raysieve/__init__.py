"""Renders scenes with a wavefront path tracer, on the CPU and on NVIDIA GPUs, with the same bits on both.

    import raysieve

    scene = raysieve.Scene.load("scenes/cornell.ron")
    result = raysieve.render(scene, samples=64)
    result.film          # float32 array of (height, width, 3): radiance in linear sRGB, rows from the top
    result.save("cornell.png")

`Scene` loads or builds a scene, `Camera` is its camera, and `Renderer` renders many views without preparing the scene
again. A value out of range raises `ValueError`, and one of the wrong type `TypeError`; both name the argument.
"""

from ._camera import Camera
from ._raysieve import RaysieveError, devices
from ._raysieve import version as _version
from ._rendering import Progress, Renderer, Result, render
from ._scene import Part, Scene

__version__ = _version()
__all__ = ["Camera", "Part", "Progress", "RaysieveError", "Renderer", "Result", "Scene", "devices", "render"]
