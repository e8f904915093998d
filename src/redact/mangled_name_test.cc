#include "redact/mangled_name.h"

#include <cxxabi.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {
namespace mangled_name_test {

std::vector<std::string> IdentifiersOf(std::string_view word) {
  std::vector<std::string> found;
  WithIdentifiers(word, [&](std::string_view name) {
    found.emplace_back(name);
    return std::string(name);
  });
  return found;
}

std::string Demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : "no name";
}

TEST(MangledNameTest, IsTold) {
  EXPECT_TRUE(IsMangled("_ZN8bluebird4gemmILi128EEEvv"));
  EXPECT_TRUE(IsMangled("_Z4gemmPfS_"));
  EXPECT_TRUE(IsMangled("_ZSt4sortv"));
  EXPECT_FALSE(IsMangled("_ZBluebird"));
  EXPECT_FALSE(IsMangled("_Z"));
  EXPECT_FALSE(IsMangled("gemm"));
}

TEST(MangledNameTest, HasTheIdentifiers) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(IdentifiersOf("_Z4gemmPfS_"), Names({"gemm"}));
  EXPECT_EQ(IdentifiersOf("_ZN8bluebird4gemmILi128EEEvv"), Names({"bluebird", "gemm"}));
  EXPECT_EQ(IdentifiersOf("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb1EEEvPT0_"
                          "PT_PfS4_diiiiiiib"),
            Names({"aiter", "add_rmsnorm_quant_kernel"}));
  EXPECT_EQ(IdentifiersOf("_ZN2at6native12_GLOBAL__N_13runINS_8bluebirdEEEvNT_8ArgumentET0_S2I_"),
            Names({"at", "native", "_GLOBAL__N_1", "run", "bluebird", "Argument"}));
  EXPECT_EQ(IdentifiersOf("_Z3runIN3arc4KindE0EEvv"), Names({"run", "arc", "Kind"}));
  // A truncated name, and letters that are not types.
  EXPECT_EQ(IdentifiersOf("_Z20bluebird"), Names({"bluebird"}));
  EXPECT_EQ(IdentifiersOf("_Z3runv_quokka"), Names({"run", "quokka"}));
}

TEST(MangledNameTest, OtherNamesCanStillBeDemangled) {
  const std::string name = "_ZN8bluebird4gemmILi128EfEEvPT0_NS_6ParamsIS1_EESt6vectorIiSaIiEES2_";
  const auto rename = [](std::string_view part) {
    return part == "bluebird" ? std::string("namea") : std::string(part);
  };
  const std::string now = WithIdentifiers(name, rename);
  std::string want = Demangled(name);
  ASSERT_NE(want, "no name");
  for (std::size_t at = 0; (at = want.find("bluebird")) != std::string::npos;)
    want.replace(at, 8, "namea");
  EXPECT_EQ(Demangled(now), want);
}

}  // namespace mangled_name_test
}  // namespace headroom
