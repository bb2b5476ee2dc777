# Flags for our own code only; system headers come in as -isystem through imported targets.
add_library(sluice_warnings INTERFACE)
target_compile_options(sluice_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror -ffp-contract=off
  # gcc 12 reports false positives of these inside libstdc++ and Boost at -O2.
  -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds -Wno-dangling-pointer
  # gcc 12 takes the allocator of an Asio coroutine frame for another one.
  -Wno-mismatched-new-delete)
if(SLUICE_SANITIZE STREQUAL "address")
  # A null access ends the program under ASan anyway; these three checks double the time to build.
  target_compile_options(sluice_warnings INTERFACE -fsanitize=address,undefined -fno-sanitize=null,vptr,object-size
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(sluice_warnings INTERFACE -fsanitize=address,undefined)
elseif(SLUICE_SANITIZE STREQUAL "thread")
  target_compile_options(sluice_warnings INTERFACE -fsanitize=thread -fno-omit-frame-pointer -Wno-tsan)
  target_link_options(sluice_warnings INTERFACE -fsanitize=thread)
endif()
