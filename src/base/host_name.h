// The name of this machine in its network; empty if unknown.
#pragma once

#include <unistd.h>

#include <string>

namespace headroom {

inline std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

}  // namespace headroom
