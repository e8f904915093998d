// Checks that the scan finds a secret in every encoding before redaction, and that the copy does
// not contain it. The encoders here are independent of the scan's decoders.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "base/text.h"
#include "redact/leak_scan.h"
#include "redact/redacted_trace.h"
#include "redact/text_redactor.h"
#include "store/store_builder.h"

namespace headroom {
namespace redact_property_test {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string Digits(unsigned char byte, bool capital) {
  const std::string_view digits = capital ? "0123456789ABCDEF" : "0123456789abcdef";
  return {digits[byte >> 4U], digits[byte & 15U]};
}

std::string Base64(std::string_view bytes, std::string_view alphabet) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto byte = [&](std::size_t i) {
      return at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U;
    };
    const unsigned bits = byte(0) << 16U | byte(1) << 8U | byte(2);
    for (const unsigned shift : {18U, 12U, 6U, 0U}) out += alphabet[bits >> shift & 63U];
  }
  const std::size_t missing = (3 - bytes.size() % 3) % 3;
  return out.replace(out.size() - missing, missing, missing, '=');
}

enum class Form : std::uint8_t {
  kPlain,
  kOtherCase,
  kJson,     ///< Some letters as \u0062.
  kPercent,  ///< Some letters as %62.
  kPython,   ///< Some letters as \x62.
  kHex,
  kBase64,
  kBase64Url,
  kUtf16Little,
  kUtf16Big,
};
constexpr int kForms = 10;

std::string Encoded(const std::string& secret, Form form) {
  std::string out;
  switch (form) {
    case Form::kPlain:
      return secret;
    case Form::kOtherCase:
      for (const char c : secret)
        out += *rc::gen::arbitrary<bool>() ? static_cast<char>(c - 'a' + 'A') : c;
      return out;
    case Form::kJson:
    case Form::kPercent:
    case Form::kPython:
      for (const char c : secret) {
        const bool capital = *rc::gen::arbitrary<bool>();
        const std::string_view sign = form == Form::kJson      ? "\\u00"
                                      : form == Form::kPercent ? "%"
                                                               : "\\x";
        out += *rc::gen::arbitrary<bool>()
                   ? std::string(sign) + Digits(static_cast<unsigned char>(c), capital)
                   : std::string(1, c);
      }
      return out;
    case Form::kHex: {
      const bool capital = *rc::gen::arbitrary<bool>();
      for (const char c : secret) out += Digits(static_cast<unsigned char>(c), capital);
      return out;
    }
    case Form::kBase64:
    case Form::kBase64Url:
      // Encodes the secret at each alignment, between other bytes.
      return Base64(std::string(*rc::gen::inRange<std::size_t>(0, 3), '#') + secret +
                        std::string(*rc::gen::inRange<std::size_t>(0, 3), '#'),
                    form == Form::kBase64 ? kBase64 : kBase64Url);
    case Form::kUtf16Little:
    case Form::kUtf16Big:
      for (const char c : secret) {
        if (form == Form::kUtf16Big) out += '\0';
        out += c;
        if (form == Form::kUtf16Little) out += '\0';
      }
      return out;
  }
  return out;
}

class Scenario {
 public:
  Scenario() : names_(PublicNames::LoadBuiltIn().value()) {}

  /// Returns letters that are neither a public word nor parts of one.
  std::string Secret() const {
    constexpr std::size_t kShortest = 6, kLongest = 14;
    std::string secret;
    do {
      secret = *rc::gen::container<std::string>(*rc::gen::inRange(kShortest, kLongest),
                                                rc::gen::inRange('a', static_cast<char>('z' + 1)));
    } while (names_.IsPublicWord(secret));
    return secret;
  }
  /// Returns public words as in event names.
  static std::string Filler() {
    static const std::vector<std::string> kWords = {"aten::mm",
                                                    "forward",
                                                    "softmax_kernel<float>",
                                                    "(int, 4)",
                                                    "step #12",
                                                    "cuda",
                                                    "ncclDevKernel",
                                                    " ",
                                                    "Optimizer.step",
                                                    "=",
                                                    "/",
                                                    "\"",
                                                    "void at::native",
                                                    "100 %",
                                                    "\\",
                                                    "0x7f00",
                                                    "\xc3\xb6"};
    std::string out;
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) out += *rc::gen::elementOf(kWords);
    return out;
  }
  const PublicNames& names() const { return names_; }

 private:
  PublicNames names_;
};

/// Returns the strings of the copy, one per line.
std::string TextsOf(const TraceStore& store) {
  std::string all;
  ForEachText(store, [&](std::string_view text) { all.append(text).append("\n"); });
  return all;
}

RC_GTEST_PROP(RedactProperty, WhatIsHiddenIsFoundBeforeAndGoneAfter, ()) {
  const Scenario scenario;
  const std::string secret = scenario.Secret();
  StoreBuilder builder;
  const std::string known = "model " + secret;
  builder.Op(known, 1, 0, 10);
  const auto form = static_cast<Form>(*rc::gen::inRange(0, kForms));
  // Blanks separate encoded letters from the words around them.
  const std::string hidden =
      Scenario::Filler() + " " + Encoded(secret, form) + " " + Scenario::Filler();
  builder.Op(hidden, 1, 20, 10);
  const std::unique_ptr<TraceStore> store = builder.Build();

  TextRedactor redactor(scenario.names(), {});
  ChangedColumns changed;
  const std::unique_ptr<TraceStore> copy = RedactedTrace(*store, redactor, changed);
  const LeakScan scan(redactor.Replacements(), redactor);
  RC_ASSERT(scan.Scan(hidden).has_value());
  RC_ASSERT(scan.Scan(hidden)->original == secret || form == Form::kOtherCase ||
            scan.Scan(known).has_value());

  const std::string after = TextsOf(*copy);
  RC_ASSERT(!scan.Scan(after).has_value());
  for (int i = 0; i < kForms; ++i) {
    const std::string left = Encoded(secret, static_cast<Form>(i));
    RC_ASSERT(after.find(left) == std::string::npos);
  }
  RC_ASSERT(LowerCase(after).find(secret) == std::string::npos);
}

RC_GTEST_PROP(RedactProperty, ExpressionsMatchNothingAfter, ()) {
  const Scenario scenario;
  static const std::vector<std::string> kPatterns = {
      "[0-9]{2,}",      "[a-z]+[0-9]", "x+y?",   "\\w{9,}",
      "kernel|forward", "[A-Z][a-z]+", "[^ ]+/", "."};
  const std::string pattern = *rc::gen::elementOf(kPatterns);
  Result<AskedTexts> asked = AskedTexts::Compile({}, {pattern});
  RC_ASSERT(asked.ok());
  StoreBuilder builder;
  for (int i = 0; i < 4; ++i) {
    const std::string name =
        Scenario::Filler() + scenario.Secret() + std::to_string(*rc::gen::inRange(0, 999));
    builder.Op(name, 1, 20 * i, 10);
  }
  const std::unique_ptr<TraceStore> store = builder.Build();
  TextRedactor redactor(scenario.names(), {.asked = asked.value()});
  ChangedColumns changed;
  const std::unique_ptr<TraceStore> copy = RedactedTrace(*store, redactor, changed);
  const LeakScan scan(redactor.Replacements(), redactor);
  std::size_t before = 0;
  ForEachText(*store, [&](std::string_view text) { before += asked.value().SpansOf(text).size(); });
  ForEachText(*copy, [&](std::string_view text) { RC_ASSERT(!scan.LeakedText(text)); });
  RC_TAG(before > 0 ? "matched" : "did not match");
}

RC_GTEST_PROP(RedactProperty, NothingIsFoundWhereNothingWasHidden, ()) {
  const Scenario scenario;
  TextRedactor redactor(scenario.names(), {});
  const std::string secret = scenario.Secret();
  const LeakScan scan({{secret, "namea", SecretKind::kNames}}, redactor);
  std::string text;
  for (int i = 0; i < 20; ++i) text += Scenario::Filler() + " ";
  RC_ASSERT(!scan.Scan(text).has_value());
}

}  // namespace redact_property_test
}  // namespace headroom
