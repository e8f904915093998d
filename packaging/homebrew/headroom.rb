# A formula for Homebrew: everything except record, monitor and doctor on macOS, the whole program on Linux. packaging/build writes a
# copy with the SHA-256 checksums of the tarballs to build/packages/; set `url` to the place where you put them.
class Headroom < Formula
  desc "Shows where a training step spends its time and what a change would save"
  homepage "https://headroom.invalid"
  version "0.1.0"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://headroom.invalid/headroom-0.1.0-macos-arm64.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
    end
  end

  on_linux do
    on_intel do
      url "https://headroom.invalid/headroom-0.1.0-linux-x86_64.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
    end
    on_arm do
      url "https://headroom.invalid/headroom-0.1.0-linux-aarch64.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
    end
  end

  def install
    prefix.install Dir["*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/headroom --version")
    trace = testpath/"t.json"
    trace.write('{"traceEvents": []}')
    assert_match "no steps", shell_output("#{bin}/headroom report #{trace}")
  end
end
