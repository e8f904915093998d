#include "render/base64.h"

#include <openssl/evp.h>

namespace headroom {

std::string Base64(std::string_view bytes) {
  // One extra byte for the terminator that the library writes.
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace headroom
