#include "sim/terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace tessera::sim {
namespace {

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the terminal is gone; the run itself goes on
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

struct Terminal::Saved {
  termios input{};
  bool has_input = false;
};

bool Terminal::available() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb" &&
         *term != '\0';
}

bool Terminal::colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return no_colour == nullptr || *no_colour == '\0';
}

Terminal::Terminal() : saved_(std::make_unique<Saved>()) {
  if (::isatty(STDIN_FILENO) != 0 && ::tcgetattr(STDIN_FILENO, &saved_->input) == 0) {
    saved_->has_input = true;
    termios quiet = saved_->input;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);  // Ctrl-C still makes a signal
    quiet.c_cc[VMIN] = 0;
    quiet.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
  }
  write_all("\x1b[?1049h\x1b[?25l\x1b[2J");
}

Terminal::~Terminal() {
  write_all("\x1b[0m\x1b[?25h\x1b[?1049l");
  if (saved_->has_input) ::tcsetattr(STDIN_FILENO, TCSANOW, &saved_->input);
}

ScreenSize Terminal::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {};
  return {size.ws_col, size.ws_row};
}

void Terminal::draw(const std::vector<std::string>& rows) {
  // Every row is overwritten in place and its rest erased, so nothing flickers; one write shows the
  // whole picture.
  std::string out = "\x1b[H";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out += rows[i];
    out += "\x1b[K";
    if (i + 1 < rows.size()) out += "\r\n";
  }
  out += "\x1b[J";
  write_all(out);
}

bool Terminal::key_pressed(char key) {
  if (!saved_->has_input) return false;
  bool found = false;
  char c = 0;
  while (::read(STDIN_FILENO, &c, 1) == 1) found = found || c == key;
  return found;
}

}  // namespace tessera::sim
