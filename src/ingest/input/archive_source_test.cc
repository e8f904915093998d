#include "ingest/input/archive_source.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace headroom {
namespace archive_source_test {

using Files = std::vector<std::pair<std::string, std::string>>;  // Pairs of name and text.

/// Returns an archive of the files, written by libarchive. Names that end in '/' are folders. With
/// a compression filter but no archive format, `files` must contain exactly one file.
std::string Packed(const Files& files, int format, int filter = ARCHIVE_FILTER_NONE) {
  const std::unique_ptr<archive, decltype(&archive_write_free)> out(archive_write_new(),
                                                                    &archive_write_free);
  EXPECT_EQ(archive_write_add_filter(out.get(), filter), ARCHIVE_OK);
  EXPECT_EQ(archive_write_set_format(out.get(), format), ARCHIVE_OK);
  archive_write_set_bytes_in_last_block(out.get(), 1);
  std::string bytes(std::size_t{72} << 20, '\0');
  std::size_t used = 0;
  EXPECT_EQ(archive_write_open_memory(out.get(), bytes.data(), bytes.size(), &used), ARCHIVE_OK);
  for (const auto& [name, text] : files) {
    const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                              &archive_entry_free);
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), name.ends_with('/') ? AE_IFDIR : AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(text.size()));
    EXPECT_EQ(archive_write_header(out.get(), entry.get()), ARCHIVE_OK);
    EXPECT_EQ(archive_write_data(out.get(), text.data(), text.size()),
              static_cast<la_ssize_t>(text.size()));
  }
  EXPECT_EQ(archive_write_close(out.get()), ARCHIVE_OK);
  bytes.resize(used);
  return bytes;
}

std::string Zip(const Files& files) { return Packed(files, ARCHIVE_FORMAT_ZIP); }
std::string Tar(const Files& files) { return Packed(files, ARCHIVE_FORMAT_TAR_PAX_RESTRICTED); }
std::string Filtered(const std::string& text, int filter) {
  return Packed({{"data", text}}, ARCHIVE_FORMAT_RAW, filter);
}
std::string Gzip(const std::string& text) { return Filtered(text, ARCHIVE_FILTER_GZIP); }
std::string Xz(const std::string& text) { return Filtered(text, ARCHIVE_FILTER_XZ); }

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

class ArchiveSourceTest : public testing::Test {
 protected:
  ArchiveSourceTest() {
    directory_ = std::filesystem::temp_directory_path() /
                 ("archive_source_test." + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  ~ArchiveSourceTest() override { std::filesystem::remove_all(directory_); }

  struct Outcome {
    std::string text, damage, error;
  };

  Outcome Read(const std::string& bytes, ExpansionLimit limit = {}) const {
    const std::string path = directory_ / "file";
    std::ofstream(path, std::ios::binary) << bytes;
    return ReadPath(path, limit);
  }

  static Outcome ReadPath(const std::string& path, ExpansionLimit limit = {}) {
    Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path, limit);
    if (!source.ok()) return {{}, {}, std::string(source.status().message())};
    Outcome outcome;
    std::string buffer(5000, '\0');
    for (std::size_t got = buffer.size(); got == buffer.size();) {
      const Result<std::size_t> n = source.value()->Read(buffer);
      if (!n.ok()) {
        outcome.error = n.status().message();
        break;
      }
      got = n.value();
      outcome.text.append(buffer, 0, got);
    }
    outcome.damage = source.value()->damage();
    return outcome;
  }

  bool Fails(const Outcome& outcome, const std::string& text) const {
    return outcome.error.find(text) != std::string::npos;
  }

  std::filesystem::path directory_;
};

TEST_F(ArchiveSourceTest, GivesTheOneFileInAnyPacking) {
  const std::string text = Noise(70'000);
  const Files with_extras = {{"run/", ""},
                             {"__MACOSX/run/._trace.json", "mac"},
                             {"run/._trace.json", "mac"},
                             {"run/trace.json", text}};
  const std::pair<const char*, std::string> kCases[] = {
      {"xz", Xz(text)},
      {"bzip2", Filtered(text, ARCHIVE_FILTER_BZIP2)},
      {"zip", Zip({{"trace.json", text}})},
      {"zip with extras", Zip(with_extras)},
      {"tar", Tar({{"trace.json", text}})},
      {"tar with extras", Tar(with_extras)},
      {"tar in gzip", Gzip(Tar({{"trace.json", text}}))},
      {"tar in xz", Xz(Tar({{"trace.json", text}}))},
      {"gzip in gzip", Gzip(Gzip(text))},
      {"gzip in zip", Zip({{"trace.json.gz", Gzip(text)}})},
      {"beside a description", Zip({{"run/README.md", "r"}, {"run/a", text}, {"LICENSE", "l"}})},
      {"tar in gzip in zip in gzip", Gzip(Zip({{"a.tar.gz", Gzip(Tar({{"b", text}}))}}))},
  };
  for (const auto& [name, bytes] : kCases) {
    const Outcome outcome = Read(bytes);
    EXPECT_EQ(outcome.error, "") << name;
    EXPECT_TRUE(outcome.text == text) << name << ": " << outcome.text.size();
    EXPECT_EQ(outcome.damage, "") << name;
  }
}

TEST_F(ArchiveSourceTest, RefusesSeveralFilesByTheirNames) {
  Files files = {{"a.json", "1"}, {"b\n\x1b[31m.json", "2"}};
  for (const std::string& bytes : {Zip(files), Tar(files), Gzip(Tar(files))}) {
    const Outcome outcome = Read(bytes);
    EXPECT_TRUE(Fails(outcome, "contains 2 files: a.json, b??[31m.json; unpack it and name"))
        << outcome.error;
  }
  for (int i = 0; i < 5; ++i) files.emplace_back("c" + std::to_string(i), Noise(9000));
  EXPECT_TRUE(Fails(Read(Zip(files)), ", c0, c1, c2 and 2 more;"));
  // The archive contains only another archive.
  EXPECT_TRUE(Fails(Read(Zip({{"a.tar", Tar(files)}})), "contains 7 files"));
}

TEST_F(ArchiveSourceTest, APipeThatHoldsSeveralFilesFailsAtTheEndOfTheFirst) {
  const std::string path = directory_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto read = [&](const std::string& bytes) {
    std::thread writer([&] { std::ofstream(path, std::ios::binary) << bytes; });
    Outcome outcome = ReadPath(path);
    writer.join();
    return outcome;
  };
  EXPECT_EQ(read(Gzip(Tar({{"a", "text"}}))).text, "text");
  EXPECT_TRUE(
      Fails(read(Tar({{"a", "text"}, {"b", "2"}})), "contains several files, including a and b"));
}

TEST_F(ArchiveSourceTest, RefusesWhatHoldsNoFile) {
  EXPECT_TRUE(Fails(Read(Zip({})), "is an archive without files"));
  EXPECT_TRUE(Fails(Read(Tar({{"folder/", ""}})), "is an archive without files"));
  EXPECT_TRUE(
      Fails(Read(Gzip(Gzip(Gzip(Gzip(Gzip("x")))))), "has more than 4 layers of compression"));
}

TEST_F(ArchiveSourceTest, TextThatOnlyLooksLikeATarIsText) {
  std::string text(600, ' ');
  text.replace(257, 5, "ustar");
  EXPECT_EQ(Read(text).text, text);
}

TEST_F(ArchiveSourceTest, BombsAreRefusedInAnyLayer) {
  const std::string spaces(std::size_t{68} << 20, ' ');
  const std::string zip = Zip({{"a", spaces}});
  for (const std::string& bomb :
       {zip, Zip({{"a.zip", zip}}), Gzip(Gzip(spaces)), Gzip(Xz(spaces))}) {
    const Outcome refused = Read(bomb, {.max_ratio = 50});
    EXPECT_TRUE(Fails(refused, "expands more than 50 times")) << refused.error;
    EXPECT_LE(refused.text.size(), std::size_t{66} << 20);
  }
  EXPECT_EQ(Read(zip, {.max_ratio = INT64_MAX}).text.size(), spaces.size());
  // A second file, which is skipped, must not circumvent the limit.
  EXPECT_NE(
      Read(Gzip(Tar({{"a", "1"}, {"b", std::string(15 << 20, ' ')}})), {.max_ratio = 1}).error, "");
}

TEST_F(ArchiveSourceTest, CutAndDamagedArchivesKeepWhatIsBefore) {
  const std::string text = Noise(3000);
  for (const std::string& whole :
       {Zip({{"a", text}}), Tar({{"a", text}}), Xz(text), Gzip(Gzip(text)),
        Gzip(Tar({{"a", text}})), Filtered(text, ARCHIVE_FILTER_BZIP2)}) {
    for (std::size_t at = 0; at < whole.size(); at += 19) {
      const Outcome cut = Read(whole.substr(0, at));
      // Truncation after the text, in an index or in padding, loses nothing.
      const bool is_told = !cut.error.empty() || !cut.damage.empty() || cut.text == text;
      EXPECT_TRUE(is_told || at < kArchiveHeadBytes) << at << " of " << whole.size();
      std::string flipped = whole;
      flipped[at] ^= 0x55;
      Read(flipped);
    }
  }
}

}  // namespace archive_source_test
}  // namespace headroom
