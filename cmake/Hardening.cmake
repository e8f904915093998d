# Flags for every target that make a memory error end the program instead of running foreign code (docs/security.md).
# tests/integration/test_binaries.py checks them in every file that a build makes.
include(CheckCXXCompilerFlag)
include(CheckLinkerFlag)

add_compile_options(-fstack-protector-strong)
if(NOT HEADROOM_SANITIZE)  # Sanitizers check the same calls, with more detail.
  set(optimized $<OR:$<CONFIG:Release>,$<CONFIG:RelWithDebInfo>,$<CONFIG:MinSizeRel>>)
  add_compile_options($<${optimized}:-U_FORTIFY_SOURCE> $<${optimized}:-D_FORTIFY_SOURCE=2>)
endif()
foreach(flag -fstack-clash-protection -fcf-protection)  # Compilers for some processors lack these flags.
  string(MAKE_C_IDENTIFIER "HEADROOM_HAS${flag}" known)
  check_cxx_compiler_flag(${flag} ${known})
  if(${known})
    add_compile_options(${flag})
  endif()
endforeach()

add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
# The start files of Debian 12 are not marked for shadow stacks, so the linker would leave out the mark. Forcing it is
# safe, because those files do not touch return addresses. `-z ibt` would not be safe: indirect branches into those
# files have no landing place.
check_linker_flag(CXX -Wl,-z,shstk HEADROOM_HAS_SHSTK)
if(HEADROOM_HAS_SHSTK)
  add_link_options(-Wl,-z,shstk)
endif()
