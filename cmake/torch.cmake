# LibTorch from the PyPI wheel that `./dev setup` unpacked. Only libtorch_cpu and libc10 are linked,
# so the CPU build needs no CUDA driver. Torch carries an old protobuf's headers: its include
# folders are for model/ alone (docs/decisions/0001-libraries.md).
set(SCANLINE_TORCH_DIR "" CACHE PATH "Folder with torch/ from the wheel; empty: the cache folder")
set(_torch ${SCANLINE_TORCH_DIR})
if(NOT _torch)
  if(DEFINED ENV{SCANLINE_CACHE})
    set(_torch $ENV{SCANLINE_CACHE}/libtorch-2.11.0-cpu)
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(_torch $ENV{XDG_CACHE_HOME}/scanline/libtorch-2.11.0-cpu)
  else()
    set(_torch $ENV{HOME}/.cache/scanline/libtorch-2.11.0-cpu)
  endif()
endif()
if(NOT EXISTS ${_torch}/torch/lib/libtorch_cpu.so)
  message(FATAL_ERROR "LibTorch not found in ${_torch}. Run ./dev setup, or pass -DSCANLINE_TORCH_DIR=DIR.")
endif()
set(_lib ${_torch}/torch/lib)
add_library(scanline_torch INTERFACE)
add_library(scanline::torch ALIAS scanline_torch)
target_include_directories(scanline_torch SYSTEM INTERFACE
  ${_torch}/torch/include ${_torch}/torch/include/torch/csrc/api/include)
target_link_libraries(scanline_torch INTERFACE ${_lib}/libtorch_cpu.so ${_lib}/libc10.so)
target_link_options(scanline_torch INTERFACE
  "-Wl,-rpath,${_lib}" "-Wl,-rpath,${_torch}/nvidia/cu13/lib" "-Wl,-rpath-link,${_torch}/nvidia/cu13/lib"
  -Wl,--disable-new-dtags)
