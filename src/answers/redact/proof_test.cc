#include "answers/redact/proof.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "base/testing/folder.h"
#include "ingest/open_trace.h"
#include "redact/public_names.h"

namespace headroom {
namespace redact_proof_test {

class ProveCopyTest : public TestFolder {
 protected:
  /// Writes a trace with one operator, inside the range named `range`.
  std::string Write(const char* file, const std::string& range, int us = 5) const {
    std::string path = (folder_ / file).string();
    std::ofstream(path) << fmt::format(
        R"({{"schemaVersion":1,"traceEvents":[)"
        R"({{"ph":"X","cat":"user_annotation","name":"{}","pid":1,"tid":1,"ts":1,"dur":9}},)"
        R"({{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":2,"dur":{}}}]}})",
        range, us);
    return path;
  }

  /// Redacts "bluebird" in the trace. Proves a copy that has `range` as the name of the range.
  Result<RedactProof> Proved(const std::string& range, int us = 5) {
    auto before = OpenTrace(Write("before.json", "bluebird"), {});
    EXPECT_TRUE(before.ok()) << before.status().message();
    TextRedactor redactor(names_, {});
    redactor.Learn("bluebird");
    token_ = redactor.Text("bluebird");
    const std::string copy = Write("copy.json", range.empty() ? token_ : range, us);
    return ProveCopy(*before.value(), {.path = copy, .final_path = "share.json"}, *reference_,
                     redactor);
  }

  const PublicNames names_ = PublicNames::LoadBuiltIn().value();
  const std::unique_ptr<ReferenceData> reference_ = ReferenceData::LoadBuiltIn().value();
  std::string token_;
};

TEST_F(ProveCopyTest, CountsWhatItLookedAt) {
  const Result<RedactProof> proof = Proved("");
  ASSERT_TRUE(proof.ok()) << proof.status().message();
  EXPECT_EQ(proof.value().texts, 1u);
  EXPECT_EQ(proof.value().bytes,
            static_cast<std::int64_t>(std::filesystem::file_size(folder_ / "copy.json")));
  EXPECT_GT(proof.value().compared, 10);
}

TEST_F(ProveCopyTest, FailsWhereARemovedTextIsStillThere) {
  const Result<RedactProof> proof = Proved("my Bluebird run");
  ASSERT_FALSE(proof.ok());
  EXPECT_EQ(
      proof.status().message().rfind(
          "share.json: not written, because its proof failed: 'bluebird' is still in the copy", 0),
      0u)
      << proof.status().message();
}

TEST_F(ProveCopyTest, FailsWhereTheReportSaysSomethingElse) {
  const Result<RedactProof> proof = Proved("", 6);
  ASSERT_FALSE(proof.ok());
  EXPECT_NE(proof.status().message().find("the report differs at /"), std::string::npos)
      << proof.status().message();
}

}  // namespace redact_proof_test
}  // namespace headroom
