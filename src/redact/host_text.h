// Recognizes what names machines and people by its form: addresses, domains, URLs, mail, UUIDs.
#pragma once

#include <cstddef>
#include <string_view>

namespace headroom {

bool IsHostByte(char c);
/// Whether a name that begins here is not the rest of what stands before.
bool BeginsAt(std::string_view text, std::size_t at);

// Each gives the end of what begins at `at`, or `at` where nothing of the kind does.
// REQUIRES: BeginsAt(text, at).

/// "s3://bucket/key", to the next blank, quote or angle bracket.
std::size_t UrlAt(std::string_view text, std::size_t at);
/// "ada.l+x@example.org"
std::size_t MailAt(std::string_view text, std::size_t at);
/// IPv4 and IPv6 addresses, with dots, dashes and colons; hardware addresses; UUIDs, which name a
/// GPU, a disk or a run; names in common and internal domains.
std::size_t HostAt(std::string_view text, std::size_t at);

}  // namespace headroom
