// Recognizes what names machines and people by its form: addresses, domains, URLs, mail, UUIDs.
#pragma once

#include <cstddef>
#include <string_view>

namespace headroom {

bool IsHostByte(char c);
/// Whether a path or URL that begins here is not the rest of what stands before.
bool BeginsAt(std::string_view text, std::size_t at);

// Each gives the end of what begins at `at`, or `at` where nothing of the kind does: the rest of a
// longer word does not. REQUIRES: at < text.size().

/// "s3://bucket/key", to the next blank, quote or angle bracket.
std::size_t UrlAt(std::string_view text, std::size_t at);
/// "ada.l+x@example.org"
std::size_t MailAt(std::string_view text, std::size_t at);
/// What has the form of an address, in whatever word it stands ("rank0_10.0.0.1", "v10.0.0.1"):
/// IPv4 with dots, or with dashes as clouds write it behind "ip-", IPv6 from a group of four digits
/// on, and hardware addresses. Versions of four numbers have it, too, but for those of libraries'
/// files ("libcudnn.so.9.1.0.70"). What stands around it matters as little as can be, so that none
/// appears when that is replaced.
std::size_t AddressAt(std::string_view text, std::size_t at);
/// "10_44_3_23", within words, too, of a network of its own (10, 172.16 to 172.31, 192.168,
/// 169.254); behind 10 with a number of two digits that is no power of two, as names of programs
/// number things so.
std::size_t UnderscoredAddressAt(std::string_view text, std::size_t at);
/// A machine as those of a cluster are numbered, also between "_": "node17", "gpu017",
/// "worker-003", "node_0042", "compute-0-14", "r05u14"; and lists of them: "cn[0001-0042]".
std::size_t NumberedMachineAt(std::string_view text, std::size_t at);
/// What stands behind "host" or "hostname": "host gpu-osprey-17", "hostname='osprey'".
std::size_t NamedMachineAt(std::string_view text, std::size_t at);
/// IPv4 and IPv6 addresses, with dots, dashes and colons; hardware addresses; UUIDs, which name a
/// GPU, a disk or a run; names in common and internal domains.
std::size_t HostAt(std::string_view text, std::size_t at);

}  // namespace headroom
