// Recognizes secrets and names of private resources: keys, tokens, passwords.
#pragma once

#include <cstddef>
#include <string_view>

namespace headroom {

// Each function returns the end of a string of its kind that begins at `at`, or `at` if none begins
// there. The rest of a longer word does not match. Requires at < text.size().

/// A key with a published prefix ("AKIA", "ghp_", "xoxb-", "vol-" of a cloud and similar) and a
/// minimum length. After a lower-case prefix, it must have digits or letters in both cases. Also
/// signed JSON tokens ("eyJ..."), up to the end of their last part.
std::size_t IssuedKeyAt(std::string_view text, std::size_t at);

/// At least 16 letters and digits that look random: upper-case letters, lower-case letters and
/// digits that alternate about as often as at random. Upper-case letters and digits alone also
/// match.
std::size_t RandomTextAt(std::string_view text, std::size_t at);

/// The value after a word that marks a secret ("password: x", "api_key=x", "Bearer x"); in quotes,
/// up to the closing quote. A count after "token" ("token: 3.5ms") does not match.
std::size_t SecretValueAt(std::string_view text, std::size_t at);

}  // namespace headroom
