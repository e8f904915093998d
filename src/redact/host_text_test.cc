#include "redact/host_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace headroom {
namespace host_text_test {

struct Case {
  const char* what;
  std::string_view text;
  std::string_view found;  ///< Prefix of the text; empty if nothing matches.
};

TEST(HostTextTest, Hosts) {
  const Case kCases[] = {
      {"IPv4", "10.1.2.3:29500", "10.1.2.3"},
      {"at the end of a sentence", "10.1.2.3. Then", "10.1.2.3"},
      {"cloud machine name", "ip-10-0-12-34 is up", "ip-10-0-12-34"},
      {"cloud machine name with domain", "ip-10-0-12-34.ec2.internal",
       "ip-10-0-12-34.ec2.internal"},
      {"a version of three parts", "2.7.1", ""},
      {"not a byte", "10.1.2.333", ""},
      {"IPv6, shortened", "2001:db8::1", "2001:db8::1"},
      {"IPv6, local", "fe80::dead:beef]", "fe80::dead:beef"},
      {"IPv6, whole", "fe80:0:0:0:1:2:3:4 x", "fe80:0:0:0:1:2:3:4"},
      {"hardware address", "00:1a:2b:3c:4d:5e", "00:1a:2b:3c:4d:5e"},
      {"hardware address with dashes", "00-1a-2b-3c-4d-5e", "00-1a-2b-3c-4d-5e"},
      {"time of day", "12:30:45", ""},
      {"a C++ name", "c10d::broadcast_", ""},
      {"a name of hexadecimal letters", "add::dead", ""},
      {"UUID", "3f2504e0-4f89-11d3-9a0c-0305e82c3301!", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"},
      {"UUID of a GPU", "GPU-3f2504e0-4f89-11d3-9a0c-0305e82c3301",
       "GPU-3f2504e0-4f89-11d3-9a0c-0305e82c3301"},
      {"domain", "node7.hpc.uni-koeln.de/x", "node7.hpc.uni-koeln.de"},
      {"attribute", "encoder.net", ""},
      {"numbered machine", "node7.cluster.net", "node7.cluster.net"},
      {"module", "torch.nn.modules", ""},
      {"blank", " 10.1.2.3", ""},
  };
  for (const Case& c : kCases) EXPECT_EQ(c.text.substr(0, HostAt(c.text, 0)), c.found) << c.what;
}

TEST(HostTextTest, AddressesInWords) {
  const Case kCases[] = {
      {"before a word", "192.168.1.17_rank0", "192.168.1.17"},
      {"after a word", "worker_10.0.0.1", "10.0.0.1"},
      {"written as a version", "v10.0.0.1", "10.0.0.1"},
      {"after a slash", "eth0/10.23.4.5", "10.23.4.5"},
      {"after a word that ends in a digit", "a1b2c3d4e5.10.0.0.1", "5.10.0.0.1"},
      {"with a port", "10.0.0.1.29500 listens", "10.0.0.1"},
      {"five groups", "build 1.10.0.0.1", "1.10.0.0.1"},
      {"with a short port", "10.0.0.1.80 listens", "10.0.0.1.80"},
      {"three groups", "v10.0.0", ""},
      {"not a byte", "x_10.1.2.333", ""},
      {"version of a library", "libcudnn.so.9.1.0.70", ""},
      {"cloud machine name", "rank0_IP-10-0-0-1_x", "IP-10-0-0-1"},
      {"numbers with dashes", "conv-10-0-0-1", ""},
      {"hardware address", "x/00:1a:2b:3c:4d:5e", "00:1a:2b:3c:4d:5e"},
      {"after a hexadecimal letter", "mac-00-1a-2b-3c-4d-5e-device", "00-1a-2b-3c-4d-5e"},
      {"before a hexadecimal letter", "00:1a:2b:3c:4d:5e:dev", "00:1a:2b:3c:4d:5e"},
      {"InfiniBand address", "mlx_00:02:c9:03:00:e8:6b:d0", "00:02:c9:03:00:e8:6b:d0"},
      {"date and time", "step 24-11-05-10-22-33", ""},
      {"IPv6", "rank0_2001:db8::1", "2001:db8::1"},
      {"IPv6, local", "ib_fe80:0:0:1:2:3:4:5", "fe80:0:0:1:2:3:4:5"},
      {"a C++ name", "gemm_f16::add(", ""},
      {"time of day", "12:30:45", ""},
      {"the last byte", "at 10.0.0.", ""},
  };
  for (const Case& c : kCases) {
    std::string_view found;
    for (std::size_t at = 0; at < c.text.size() && found.empty(); ++at)
      found = c.text.substr(at, AddressAt(c.text, at) - at);
    EXPECT_EQ(found, c.found) << c.what;
  }
}

TEST(HostTextTest, Urls) {
  const Case kCases[] = {
      {"with a login", "https://ada:pw@example.org/x?y=1 then", "https://ada:pw@example.org/x?y=1"},
      {"digits in the scheme", "s3://bucket/key\"", "s3://bucket/key"},
      {"two schemes", "mongodb+srv://h", "mongodb+srv://h"},
      {"no scheme", "://x", ""},
      {"namespace", "std::vector", ""},
  };
  for (const Case& c : kCases) EXPECT_EQ(c.text.substr(0, UrlAt(c.text, 0)), c.found) << c.what;
}

TEST(HostTextTest, Mail) {
  const Case kCases[] = {
      {"with a tag", "ada.l+tag@example.org,", "ada.l+tag@example.org"},
      {"login at a host", "grace@node7", "grace@node7"},
      {"decorator", "@jit", ""},
      {"matrix product", "a @ b", ""},
  };
  for (const Case& c : kCases) EXPECT_EQ(c.text.substr(0, MailAt(c.text, 0)), c.found) << c.what;
  const std::string_view within = "user/bob.smith@acme.com";
  EXPECT_EQ(MailAt(within, 5), within.size()) << "after a slash";
  EXPECT_EQ(MailAt(within, 9), 9u) << "the rest of an address";
  EXPECT_EQ(MailAt("openssl/quic@3", 8), 8u) << "a version";
  EXPECT_EQ(HostAt("x/europarl-v7.de", 2), 2u) << "a file";
}

}  // namespace host_text_test
}  // namespace headroom
