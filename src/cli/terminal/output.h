// Writes results to stdout, a file or a folder, complete or not at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answers/report/csv.h"
#include "base/status.h"
#include "render/text_page.h"

namespace headroom::cli {

/// Writes a result to stdout, or atomically to `path` if it is neither empty nor "-". A reader that
/// closes the pipe is not a failure.
Status WriteResult(std::string_view text, const std::string& path);
/// Writes data that contains unescaped strings of a trace (CSV, stacks, metrics). Escapes them with
/// PrintableLines() only on a terminal.
Status WriteData(std::string_view text, const std::string& path);

/// Writes text for people. Uses a pager if stdout is a terminal with fewer lines than `text`. The
/// pager is $HEADROOM_PAGER, $PAGER or `less -FRX`; "cat" or an empty value means no pager.
Status WritePaged(std::string_view text, const std::string& path);

/// Fails with kUsage if `target` is one of the traces, under any name: writing would destroy it.
/// `flag` is the flag that names `target`, for the message.
Status RefuseToOverwrite(std::string_view flag, const std::string& target,
                         const std::vector<std::string>& traces);

/// Writes files into a folder, and creates it if it is missing. Completes all files under temporary
/// names before it renames the first.
Status WriteFolder(const std::string& folder, std::vector<NamedFile> files);

/// Prints to stderr. Ignores failures.
void Remark(std::string_view text);

/// If `mute`, Remark() prints nothing from now on. Used by processes of a command in which another
/// process prints.
void MuteRemarks(bool mute);
bool RemarksAreMuted();

/// Returns the charset of the terminal, according to the locale (LC_ALL, LC_CTYPE, LANG).
Charset CharsetOfEnvironment();

enum class ColorMode { kAuto, kAlways, kNever };

/// Returns true if results have colour in `mode`. kAuto requires a terminal with colour on stdout,
/// no NO_COLOR, and no output file.
bool UseColor(ColorMode mode, const std::string& output_path);

/// Returns the style of a page for `output_path`, as wide as the terminal if it goes to stdout.
PageStyle StyleOfPage(const std::string& output_path, ColorMode mode = ColorMode::kAuto);

}  // namespace headroom::cli
