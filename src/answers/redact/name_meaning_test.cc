#include "answers/redact/name_meaning.h"

#include <gtest/gtest.h>

#include <memory>

namespace headroom {
namespace name_meaning_test {

const ReferenceData& Reference() {
  static const std::unique_ptr<ReferenceData> reference = ReferenceData::LoadBuiltIn().value();
  return *reference;
}

TEST(MeanTheSame, ByWhatTheAnalysesReadOfANameOfItsRole) {
  const struct {
    const char *a, *b;
    NameRole role;
    bool same;
  } kCases[] = {
      {"bluebird_fuse", "word_a", NameRole::kKernel, true},
      {"ncclDevKernel_AllReduce_Sum_f32", "word_a", NameRole::kKernel, false},
      {"ampere_sgemm_128x64_nn", "ampere_word_128x64_nn", NameRole::kKernel, false},
      {"cpu_op", "word_a", NameRole::kListed, false},
      {"NVIDIA H200", "word_a", NameRole::kListed, false},
      {"bluebird", "word_a", NameRole::kListed, true},
      {"BluebirdBlock", "word_a", NameRole::kAny, true},
      {"ProfilerStep#3", "ProfilerStep#4", NameRole::kAny, false},
      {"loader.probe workers=2", "loader.probe workers=3", NameRole::kAny, false},
      {"loader.next bluebird", "loader.next word_a", NameRole::kAny, true},
      {"Optimizer.step#Adam.step", "Optimizer.step#SGD.step", NameRole::kAny, false},
      {"Optimizer.step#Adam.step", "Optimizer.step#Adam.step 2", NameRole::kAny, true},
      {"train_step 3", "train_word_a 3", NameRole::kAny, false},
      {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "word_a", NameRole::kAny,
       false},
      {"Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pageable)", NameRole::kKernel,
       false},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(MeanTheSame(Reference(), c.a, c.b, c.role), c.same) << c.a << " / " << c.b;
    EXPECT_EQ(MeanTheSame(Reference(), c.b, c.a, c.role), c.same) << c.b << " / " << c.a;
  }
}

}  // namespace name_meaning_test
}  // namespace headroom
