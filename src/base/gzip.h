// Compresses to gzip.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct isal_zstream;

namespace headroom {

/// Returns one gzip member with `content`. Equal contents give equal bytes.
std::string Gzip(std::string_view content);

/// Compresses content in pieces to one gzip member.
class GzipStream {
 public:
  GzipStream();
  GzipStream(GzipStream&&) noexcept;
  GzipStream& operator=(GzipStream&&) noexcept;
  ~GzipStream();

  /// Returns the next bytes of the member. REQUIRES: no call follows the last piece.
  std::string Add(std::string_view piece, bool last);

 private:
  std::vector<std::uint8_t> scratch_;
  std::unique_ptr<isal_zstream> stream_;
};

}  // namespace headroom
