// libFuzzer target: reads any bytes as a compressed file. The first byte chooses the size of reads.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ingest/input/byte_source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const int file = memfd_create("fuzz", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  const ssize_t bytes = static_cast<ssize_t>(size) - 1;
  if (ftruncate(file, 0) != 0 || pwrite(file, data + 1, size - 1, 0) != bytes) std::abort();
  auto source = headroom::OpenByteSource(path, {.max_ratio = 1});
  if (!source.ok()) return 0;
  std::string buffer(std::size_t{1} << (data[0] % 17), '\0');
  for (std::size_t total = 0; total < std::size_t{80} << 20; total += buffer.size()) {
    const auto n = source.value()->Read(buffer);
    if (!n.ok()) return 0;
    if (n.value() > buffer.size()) std::abort();
    if (n.value() < buffer.size()) break;
  }
  return 0;
}
