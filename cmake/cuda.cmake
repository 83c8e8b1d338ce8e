# The CUDA language and runtime, for model/cuda/. The runtime is linked as a static library and
# cuBLASLt is opened when the first device is used, so that the same program starts where neither
# driver nor libraries are (docs/decisions/0007-cuda.md).
find_package(CUDAToolkit 13.0 QUIET)
if(NOT CUDAToolkit_FOUND OR NOT TARGET CUDA::cudart_static OR
   NOT EXISTS ${CUDAToolkit_INCLUDE_DIRS}/cublasLt.h)
  message(FATAL_ERROR "SCANLINE_CUDA needs a CUDA 13 toolkit with nvcc, libcudart_static.a and "
    "cublasLt.h; found ${CUDAToolkit_VERSION} in '${CUDAToolkit_ROOT_DIR}'. Install NVIDIA's packages "
    "cuda-nvcc-13-0 cuda-cudart-dev-13-0 libcublas-dev-13-0 and libcublas-13-0 (or cuda-toolkit-13-0), "
    "and set CUDAToolkit_ROOT where it is not in /usr/local/cuda. Without CUDA: preset release.")
endif()
set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE} CACHE FILEPATH "nvcc")
# Machine code for these, and PTX of the last for those that come.
set(CMAKE_CUDA_ARCHITECTURES 80-real 86-real 89-real 90-real 100-real 120 CACHE STRING
    "Architectures of the kernels")
set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O3 -lineinfo")
set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
enable_language(CUDA)
# CMake 3.25 does not know that nvcc takes C++20.
foreach(kind STANDARD EXTENSION)
  if(NOT CMAKE_CUDA20_${kind}_COMPILE_OPTION)
    set(CMAKE_CUDA20_${kind}_COMPILE_OPTION -std=c++20)
  endif()
endforeach()
