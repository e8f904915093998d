// Recognizes names of machines and people by their form: addresses, domains, URLs, mail, UUIDs.
#pragma once

#include <cstddef>
#include <string_view>

namespace headroom {

bool IsHostByte(char c);
/// Returns true if a path or URL can begin at `at`, because `at` is not inside a longer word or
/// path.
bool BeginsAt(std::string_view text, std::size_t at);

// Each function returns the end of a string of its kind that begins at `at`, or `at` if none begins
// there. The rest of a longer word does not match. Requires at < text.size().

/// "s3://bucket/key", up to the next blank, quote or angle bracket.
std::size_t UrlAt(std::string_view text, std::size_t at);
/// "ada.l+x@example.org".
std::size_t MailAt(std::string_view text, std::size_t at);
/// Text with the form of an address, also within words ("rank0_10.0.0.1", "v10.0.0.1"):
/// - IPv4 with dots, or with dashes after "ip-", as in host names of clouds
/// - IPv6 whose first group has four digits
/// - hardware addresses
/// Versions of four numbers also match, except for those of library files ("libcudnn.so.9.1.0.70").
/// The result depends as little as possible on the surrounding text, so that replacing it uncovers
/// no new address.
std::size_t AddressAt(std::string_view text, std::size_t at);
/// A private address with underscores ("10_44_3_23"), also within words: 10, 172.16 to 172.31,
/// 192.168 or 169.254. After 10, at least one number must have two digits and not be a power of
/// two. Otherwise the run can be part of a kernel's name.
std::size_t UnderscoredAddressAt(std::string_view text, std::size_t at);
/// A numbered machine of a cluster, also between "_": "node17", "gpu017", "worker-003",
/// "node_0042", "compute-0-14", "r05u14". Also lists of them: "cn[0001-0042]".
std::size_t NumberedMachineAt(std::string_view text, std::size_t at);
/// The name after "host" or "hostname": "host gpu-osprey-17", "hostname='osprey'".
std::size_t NamedMachineAt(std::string_view text, std::size_t at);
/// IPv4 and IPv6 addresses with dots, dashes and colons; hardware addresses; UUIDs, which identify
/// a GPU, a disk or a run; names in common and internal domains.
std::size_t HostAt(std::string_view text, std::size_t at);

}  // namespace headroom
