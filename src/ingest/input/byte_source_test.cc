#include "ingest/input/byte_source.h"

#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headroom {
namespace byte_source_test {

std::string Gzip(const std::string& text) {
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  std::string out(text.size() + text.size() / 8 + 1024, '\0');
  stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<std::uint32_t>(text.size());
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = static_cast<std::uint32_t>(out.size());
  EXPECT_EQ(isal_deflate(&stream), COMP_OK);
  out.resize(stream.total_out);
  return out;
}

/// A member of exactly `bytes` bytes; a comment in its header fills it up.
std::string GzipOfSize(const std::string& text, std::size_t bytes) {
  std::string member = Gzip(text);
  EXPECT_LT(member.size(), bytes);
  member[3] = '\x10';  // The header's flag for a comment.
  const std::size_t letters = bytes - member.size() - 1;
  return member.insert(10, std::string(letters, 'c') + '\0');
}

/// Number of bytes per read of the decompressors.
constexpr std::size_t kBlock = std::size_t{256} << 10;

std::string Zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

/// Text that compresses badly, so that streams have many places to truncate.
std::string Noise(std::size_t bytes) {
  std::string text;
  std::uint32_t state = 1;
  while (text.size() < bytes) {
    state = state * 1664525u + 1013904223u;
    text += std::to_string(state >> 8) + ",";
  }
  text.resize(bytes);
  return text;
}

class ByteSourceTest : public testing::Test {
 protected:
  ByteSourceTest() {
    directory_ =
        std::filesystem::temp_directory_path() / ("byte_source_test." + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  ~ByteSourceTest() override { std::filesystem::remove_all(directory_); }

  std::string File(const std::string& bytes) {
    std::string path = directory_ / "file";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  struct Outcome {
    std::string text;
    std::string damage;
    bool trailing = false;
    std::string error;  ///< Error from opening or reading; empty if both succeeded.
  };

  /// Reads a file to its end, `step` bytes at a time.
  static Outcome ReadAll(const std::string& path, std::size_t step, ExpansionLimit limit = {}) {
    Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path, limit);
    if (!source.ok()) return {{}, {}, false, source.status().message()};
    Outcome outcome;
    std::string buffer(step, '\0');
    for (;;) {
      const Result<std::size_t> n = source.value()->Read(buffer);
      if (!n.ok()) {
        outcome.error = n.status().message();
        break;
      }
      outcome.text.append(buffer, 0, n.value());
      if (n.value() < step) break;
    }
    outcome.damage = source.value()->damage();
    outcome.trailing = source.value()->has_trailing_bytes();
    return outcome;
  }

  std::filesystem::path directory_;
};

struct StreamCase {
  const char* name;
  std::string bytes;
  std::string text;
};

TEST_F(ByteSourceTest, WholeStreamsGiveTheirTextInStepsOfAnySize) {
  const std::string a = Noise(3000), b = Noise(70000);
  // This text ends in a long run, so a decoder that has consumed all its input still holds much
  // output.
  const std::string runs = a + std::string(300000, 'x');
  const std::string block_of_gzip = GzipOfSize(b, kBlock);
  const std::string one_less_of_gzip = GzipOfSize(b, kBlock - 1);
  const std::string skippable("\x53\x2a\x4d\x18\x03\x00\x00\x00xyz", 11);
  const std::vector<StreamCase> cases = {
      {"plain", a, a},
      {"shorter than a magic number", "{}", "{}"},
      {"gzip", Gzip(a), a},
      {"gzip that ends in a long run", Gzip(runs), runs},
      {"gzip with three members", Gzip(a) + Gzip(b) + Gzip("c"), a + b + "c"},
      {"gzip with many tiny members", Gzip("a") + Gzip("") + Gzip("b") + Gzip("c") + Gzip(""),
       "abc"},
      {"gzip whose first member ends at the end of a block", block_of_gzip + Gzip(a), b + a},
      {"gzip whose first member ends a byte before", one_less_of_gzip + Gzip(a), b + a},
      {"gzip with padding of zeros", Gzip(a) + std::string(1000, '\0'), a},
      {"zstd", Zstd(a), a},
      {"zstd that ends in a long run", Zstd(runs), runs},
      {"zstd with two frames", Zstd(a) + Zstd(b), a + b},
      {"zstd with a frame of user data", Zstd(a) + skippable + Zstd(b), a + b},
      {"zstd with padding of zeros", Zstd(a) + std::string(1000, '\0'), a},
  };
  for (const StreamCase& c : cases) {
    const std::string path = File(c.bytes);
    for (std::size_t step :
         {std::size_t{1}, std::size_t{7}, std::size_t{4096}, std::size_t{1} << 20}) {
      const Outcome outcome = ReadAll(path, step);
      EXPECT_TRUE(outcome.text == c.text)
          << c.name << ", step " << step << ": " << outcome.text.size() << " bytes";
      EXPECT_EQ(outcome.damage, "") << c.name << ", step " << step;
      EXPECT_FALSE(outcome.trailing) << c.name << ", step " << step;
      EXPECT_EQ(outcome.error, "") << c.name << ", step " << step;
    }
  }
}

TEST_F(ByteSourceTest, BytesAfterAWholeStreamAreToldUnlessTheyAreZeros) {
  const std::string a = Noise(3000), b = Noise(70000);
  const std::string zeros(600'000, '\0');
  std::string no_member = Gzip(b), no_frame = Zstd(b), no_body = Zstd(b);
  no_member[0] ^= 1;
  no_frame[0] ^= 1;
  no_body[20] ^= 0x55;
  const std::pair<const char*, std::string> cases[] = {
      {"text after gzip", Gzip(a) + "tail"},
      {"a byte after gzip", Gzip(a) + "x"},
      {"half of a magic number after gzip", Gzip(a) + "\x1f"},
      {"half of a magic number and text after gzip", Gzip(a) + "\x1fx"},
      {"text at the end of a block of gzip", GzipOfSize(a, kBlock) + "tail"},
      {"text across blocks of gzip", GzipOfSize(a, kBlock - 1) + "\x1ftail"},
      {"a second member without its first byte", Gzip(a) + no_member},
      {"a member after padding", Gzip(a) + zeros + Gzip(b)},
      {"one byte after much padding", Gzip(a) + zeros + "x"},
      {"text after zstd", Zstd(a) + "tail of some length"},
      {"a byte after zstd", Zstd(a) + "x"},
      {"half of a magic number after zstd", Zstd(a) + "\x28\xb5"},
      {"a second frame without its first byte", Zstd(a) + no_frame},
      {"a frame after padding", Zstd(a) + zeros + Zstd(b)},
  };
  for (const auto& [name, bytes] : cases) {
    for (std::size_t step : {std::size_t{7}, std::size_t{1} << 20}) {
      const Outcome outcome = ReadAll(File(bytes), step);
      EXPECT_TRUE(outcome.text == a) << name << ": " << outcome.text.size() << " bytes";
      EXPECT_TRUE(outcome.trailing) << name;
      EXPECT_EQ(outcome.damage, "") << name;
      EXPECT_EQ(outcome.error, "") << name;
    }
  }
  const Outcome damaged = ReadAll(File(Zstd(a) + no_body), 1 << 20);
  EXPECT_TRUE(damaged.text.starts_with(a));
  EXPECT_NE(damaged.damage, "");
  const Outcome damaged_member = ReadAll(File(Gzip(a) + "\x1f\x8b tail of some length"), 1 << 20);
  EXPECT_TRUE(damaged_member.text == a);
  EXPECT_EQ(damaged_member.damage, "the gzip stream is damaged");
  const Outcome cut_member = ReadAll(File(Gzip(a) + Gzip(b).substr(0, 2)), 1 << 20);
  EXPECT_TRUE(cut_member.text == a);
  EXPECT_EQ(cut_member.damage, "the gzip stream is truncated");
}

TEST_F(ByteSourceTest, CompressionThatCannotBeUndoneIsRefusedWithTheRemedy) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     &ZSTD_freeCCtx);
  const std::string text = Noise(3000);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ASSERT_FALSE(ZSTD_isError(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, 28)));
  // Without a known size, a frame asks for the whole window.
  ZSTD_inBuffer from = {text.data(), text.size(), 0};
  ZSTD_outBuffer to = {out.data(), out.size(), 0};
  ZSTD_inBuffer nothing = {nullptr, 0, 0};
  ASSERT_FALSE(ZSTD_isError(ZSTD_compressStream2(context.get(), &to, &from, ZSTD_e_continue)));
  ASSERT_EQ(ZSTD_compressStream2(context.get(), &to, &nothing, ZSTD_e_end), 0u);
  const std::string path = File(out.substr(0, to.pos));
  EXPECT_EQ(
      ReadAll(path, 1000).error,
      path + ": requires a window above 128 MiB to decompress; compress it again without --long");

  const std::string dictionary = Noise(1000);
  std::string with_dictionary(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx_reset(context.get(), ZSTD_reset_session_and_parameters);
  with_dictionary.resize(ZSTD_compress_usingDict(context.get(), with_dictionary.data(),
                                                 with_dictionary.size(), text.data(), text.size(),
                                                 dictionary.data(), dictionary.size(), 3));
  // A raw dictionary has no id. Give the frame an id: an additional byte after the descriptor.
  with_dictionary[4] = static_cast<char>(with_dictionary[4] | 1);
  with_dictionary.insert(5, 1, '\x07');
  EXPECT_NE(ReadAll(File(with_dictionary), 1000).error.find("with a dictionary"),
            std::string::npos);
}

TEST_F(ByteSourceTest, CutGzipKeepsAPrefixAndSaysSo) {
  const std::string text = Noise(500);
  const std::string whole = Gzip(text);
  for (std::size_t cut = 4; cut < whole.size(); ++cut) {
    const Outcome outcome = ReadAll(File(whole.substr(0, cut)), 1000);
    EXPECT_TRUE(text.starts_with(outcome.text)) << "cut at " << cut;
    EXPECT_EQ(outcome.damage, "the gzip stream is truncated") << "cut at " << cut;
    // The last eight bytes are the checksum and the length: the text is complete without them.
    if (cut + 8 >= whole.size()) {
      EXPECT_EQ(outcome.text.size(), text.size()) << "cut at " << cut;
    }
  }
}

TEST_F(ByteSourceTest, CutZstdKeepsAPrefixAndSaysSo) {
  const std::string text = Noise(300000);
  const std::string whole = Zstd(text);
  for (std::size_t cut = 4; cut < whole.size(); cut += 997) {
    const Outcome outcome = ReadAll(File(whole.substr(0, cut)), 1000);
    EXPECT_TRUE(text.starts_with(outcome.text)) << "cut at " << cut;
    EXPECT_EQ(outcome.damage, "the zstd stream is truncated") << "cut at " << cut;
  }
}

TEST_F(ByteSourceTest, CorruptGzipIsToldFromAWrongChecksum) {
  const std::string text = Noise(20000);
  std::string wrong_sum = Gzip(text);
  wrong_sum[wrong_sum.size() - 6] ^= 1;
  const Outcome summed = ReadAll(File(wrong_sum), 1000);
  EXPECT_EQ(summed.text, text);
  EXPECT_EQ(summed.damage, "the gzip checksum does not match");

  std::string wrong_block = Gzip(text);
  wrong_block[10] = '\x07';  // The reserved block type.
  EXPECT_EQ(ReadAll(File(wrong_block), 1000).damage, "the gzip stream is damaged");
}

TEST_F(ByteSourceTest, AnyFlippedByteOfACompressedFileIsSurvived) {
  const std::string text = Noise(600);
  for (const std::string& whole : {Gzip(text), Zstd(text)}) {
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string flipped = whole;
      flipped[at] ^= 0x55;
      const Outcome outcome = ReadAll(File(flipped), 512);
      if (at >= 10 &&
          whole[0] ==
              '\x1f') {  // Damage after the header is detected, unless it changed an unused code.
        EXPECT_TRUE(!outcome.damage.empty() || outcome.text == text) << at;
      }
    }
  }
}

TEST_F(ByteSourceTest, BombsAreRefusedWithTheLimitAndItsFlag) {
  const std::string spaces(std::size_t{100} << 20, ' ');
  for (const std::string& bomb : {Gzip(spaces), Zstd(spaces)}) {
    const std::string path = File(bomb);
    const Outcome refused = ReadAll(path, 1 << 20, {.max_ratio = 50});
    EXPECT_NE(refused.error.find("expands more than 50 times"), std::string::npos) << refused.error;
    EXPECT_NE(refused.error.find("--max-expansion"), std::string::npos) << refused.error;
    EXPECT_LE(refused.text.size(), std::size_t{66} << 20);

    const Outcome trusted = ReadAll(path, 1 << 20, {.max_ratio = 1 << 20});
    EXPECT_EQ(trusted.error, "");
    EXPECT_EQ(trusted.text.size(), spaces.size());
  }
}

TEST_F(ByteSourceTest, WhatIsNoFileIsRefusedByNameWithAReason) {
  const std::string missing = directory_ / "missing";
  EXPECT_EQ(ReadAll(missing, 10).error,
            missing + ": cannot open: No such file or directory; check its path");
  const std::string directory = directory_;
  EXPECT_EQ(ReadAll(directory + "/", 10).error,
            directory + "/: is a directory; name the trace files in it, e.g. " + directory +
                "/*.json.gz");
  const std::string empty = File("");
  EXPECT_EQ(ReadAll(empty, 10).error, empty +
                                          ": is empty: the program ended before the "
                                          "profiler wrote it, or a download failed; record the "
                                          "trace again, or download it again");
}

TEST_F(ByteSourceTest, ProgressReachesTheSizeOfTheFile) {
  const std::string path = File(Gzip(Noise(5000)));
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path, {});
  ASSERT_TRUE(source.ok());
  std::string buffer(100000, '\0');
  ASSERT_TRUE(source.value()->Read(buffer).ok());
  EXPECT_EQ(source.value()->file_bytes(),
            static_cast<std::int64_t>(std::filesystem::file_size(path)));
  EXPECT_EQ(source.value()->file_bytes_read(), source.value()->file_bytes());
}

}  // namespace byte_source_test
}  // namespace headroom
