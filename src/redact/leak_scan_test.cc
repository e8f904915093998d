#include "redact/leak_scan.h"

#include <gtest/gtest.h>

namespace headroom {
namespace leak_scan_test {

class LeakScanTest : public ::testing::Test {
 protected:
  PublicNames names_ = PublicNames::LoadBuiltIn().value();
  TextRedactor redactor_{names_, {}};
  LeakScan scan_{{{"Bluebird", "namea", SecretKind::kNames},
                  {"köln-7", "hosta", SecretKind::kHosts},
                  {"former", "nameb", SecretKind::kNames},
                  {"zq", "namec", SecretKind::kNames}},
                 redactor_};

  std::string FormIn(std::string_view text) const {
    const auto leak = scan_.Scan(text);
    return leak ? leak->form : "";
  }
};

TEST_F(LeakScanTest, FindsEachForm) {
  EXPECT_EQ(FormIn("the BLUEBIRD flies"), "plain");
  EXPECT_EQ(FormIn("x_bluebird_v2"), "plain");
  EXPECT_EQ(FormIn("k\\u00f6ln-7 and more"), "escaped");
  EXPECT_EQ(FormIn("k%c3%b6ln-7 and more"), "escaped");
  EXPECT_EQ(FormIn("426c75656269 426c756562697264"), "hexadecimal");
  EXPECT_EQ(FormIn(std::string_view("B\0l\0u\0e\0b\0i\0r\0d\0", 16)), "UTF-16");
  EXPECT_EQ(FormIn(std::string_view("\0b\0l\0u\0e\0b\0i\0r\0d", 16)), "UTF-16");
  // "Bluebird", "xBluebird" and "xyBluebird".
  EXPECT_EQ(FormIn("=Qmx1ZWJpcmQ="), "base64");
  EXPECT_EQ(FormIn("=eEJsdWViaXJk="), "base64");
  EXPECT_EQ(FormIn("=eHlCbHVlYmlyZA=="), "base64");
  EXPECT_EQ(FormIn("=YmxVRWJpcmQ="), "");  // "blUEbird" has an implausible capitalization.
  // Partly escaped, twice escaped, and escaped as in Python and URLs.
  EXPECT_EQ(FormIn("k%C3%B6ln%2d7"), "escaped");
  EXPECT_EQ(FormIn("Bl\\\\u0075ebird"), "escaped");
  EXPECT_EQ(FormIn("Bl\\x75e%62ird"), "escaped");
  EXPECT_EQ(FormIn("k\\u00F6ln\\u002D7"), "escaped");
  EXPECT_EQ(FormIn("Bl\\165ebird"), "escaped");
  EXPECT_EQ(FormIn("k\\303\\266ln-7"), "escaped");
  EXPECT_EQ(FormIn("k&#246;ln-7"), "escaped");
  EXPECT_EQ(FormIn("B&#x6c;uebird"), "escaped");
  EXPECT_EQ(FormIn("k=C3=B6ln-7"), "quoted-printable");
  EXPECT_EQ(FormIn("Blue=\nbird"), "quoted-printable");
  EXPECT_EQ(FormIn("it is B l u e b i r d."), "spaced");
  EXPECT_EQ(FormIn("b-l-u-e-b-i-r-d"), "spaced");
  EXPECT_EQ(FormIn("42 6c 75 65 62 69 72 64"), "hexadecimal");
  EXPECT_EQ(FormIn("42:6C:75:65:62:69:72:64"), "hexadecimal");
  EXPECT_EQ(FormIn("&lt;div class=3D&gt; 1,2,3,4,5,6,7,8 &; \\9 ="), "");
  const std::string utf16(
      "k\0\xf6\0l\0n\0-\0"
      "7\0",
      12);
  EXPECT_EQ(FormIn("x" + utf16), "UTF-16");
}

TEST_F(LeakScanTest, IsNotAlarmedByPublicWords) {
  EXPECT_EQ(FormIn("transformer"), "");
  EXPECT_EQ(FormIn("TransformerEncoder"), "");
  EXPECT_EQ(FormIn("former"), "plain");
  EXPECT_EQ(FormIn("blue bird"), "");
}

TEST_F(LeakScanTest, WhatWasAskedForIsFoundInPublicWords) {
  const TextRedactor redactor(
      names_, {.asked = AskedTexts::Compile({"former", "mag"}, {"v[0-9]{3}"}).value()});
  const LeakScan scan({}, redactor);
  EXPECT_TRUE(scan.Scan("TransFormer").has_value());
  EXPECT_EQ(scan.LeakedText("a magnet"), "mag");
  EXPECT_EQ(scan.LeakedText("of v123"), "v123");
  EXPECT_EQ(scan.LeakedText("of v12"), std::nullopt);
}

TEST_F(LeakScanTest, ShortTextsAreFoundAsWords) {
  EXPECT_EQ(FormIn("zq"), "");
  EXPECT_EQ(scan_.LeakedText("aten::zq"), "zq");
  EXPECT_EQ(scan_.LeakedText("a_Zq3"), "Zq");
  EXPECT_EQ(scan_.LeakedText("squeeze"), std::nullopt);
}

}  // namespace leak_scan_test
}  // namespace headroom
