"""Plain PyTorch kernels that take the place of SGLang's compiled CPU kernels.

Every kernel works on any CPU that PyTorch runs on, reads activations of any floating dtype and computes in float32
(float64 when its input is float64).
"""
