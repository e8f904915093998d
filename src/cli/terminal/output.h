// Where results go: stdout, a file or a folder; whole or not at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answers/report/csv.h"
#include "base/status.h"
#include "render/text_page.h"

namespace headroom::cli {

/// Writes a result to stdout, or atomically to `path` if it is neither empty nor "-". A reader of
/// stdout that went away (a closed pipe) had enough: that is no failure.
Status WriteResult(std::string_view text, const std::string& path);
/// The same for data that holds texts of a trace as they are (CSV, stacks, metrics): on a terminal,
/// but nowhere else, as PrintableLines().
Status WriteData(std::string_view text, const std::string& path);

/// The same for text that people read. Goes through a pager if stdout is a terminal with fewer
/// lines than `text`: $HEADROOM_PAGER, $PAGER or `less -FRX`; "cat" or an empty value means no
/// pager.
Status WritePaged(std::string_view text, const std::string& path);

/// Fails (kUsage) where `target` is one of the traces, under whatever name: writing it would
/// destroy it. `flag` is what the user wrote, for the message.
Status RefuseToOverwrite(std::string_view flag, const std::string& target,
                         const std::vector<std::string>& traces);

/// Writes files into a folder, made if it is missing. All are complete under temporary names before
/// the first appears.
Status WriteFolder(const std::string& folder, std::vector<NamedFile> files);

/// Prints to stderr; failures to do so are ignored.
void Remark(std::string_view text);

/// Whether Remark() prints nothing from here on: another process of the same command has the word.
void MuteRemarks(bool mute);
bool RemarksAreMuted();

/// What a terminal can show by the locale of the environment (LC_ALL, LC_CTYPE, LANG).
Charset CharsetOfEnvironment();

enum class ColorMode { kAuto, kAlways, kNever };

/// Whether results have colour: `mode`, and for kAuto whether stdout is a terminal that shows it,
/// NO_COLOR is not set and the result does not go to a file.
bool UseColor(ColorMode mode, const std::string& output_path);

/// How a page for `output_path` looks: as wide as the terminal on stdout, if it goes there.
PageStyle StyleOfPage(const std::string& output_path, ColorMode mode = ColorMode::kAuto);

}  // namespace headroom::cli
