// Writing gzip.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct isal_zstream;

namespace headroom {

/// One gzip member that holds `content`; the same bytes for the same content.
std::string Gzip(std::string_view content);

/// One gzip member whose content comes in pieces.
class GzipStream {
 public:
  GzipStream();
  GzipStream(GzipStream&&) noexcept;
  GzipStream& operator=(GzipStream&&) noexcept;
  ~GzipStream();

  /// What can be told of the member so far, behind what was told before. REQUIRES: nothing follows
  /// the last piece.
  std::string Add(std::string_view piece, bool last);

 private:
  std::vector<std::uint8_t> scratch_;
  std::unique_ptr<isal_zstream> stream_;
};

}  // namespace headroom
