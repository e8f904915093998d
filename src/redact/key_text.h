// Recognizes what opens something or names a resource of its owner's: keys, tokens, passwords.
#pragma once

#include <cstddef>
#include <string_view>

namespace headroom {

// Each gives the end of what begins at `at`, or `at` where nothing of the kind does: the rest of a
// longer word does not. REQUIRES: at < text.size().

/// What begins as its issuer publishes ("AKIA", "ghp_", "xoxb-", "vol-" of a cloud and the like)
/// and is long enough, behind small letters with digits or in both cases, and signed tokens of JSON
/// ("eyJ..."), to the end of the last of their parts.
std::size_t IssuedKeyAt(std::string_view text, std::size_t at);

/// Letters and digits that look drawn by lot: 16 and more, of capitals, small letters and digits,
/// which change about as often as they would at random; or of capitals and digits alone.
std::size_t RandomTextAt(std::string_view text, std::size_t at);

/// The value behind a word that says it is secret ("password: x", "api_key=x", "Bearer x"); in
/// quotes, to the quote. What is counted behind "token" ("token: 3.5ms") is none.
std::size_t SecretValueAt(std::string_view text, std::size_t at);

}  // namespace headroom
