// An emulated NVRTC: it rewrites what g++ does not accept and compiles the result to a shared library of the host.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

enum Status { SUCCESS = 0, INVALID_INPUT = 3, COMPILATION = 6 };

constexpr int CAPABILITIES[] = {75, 80, 86, 89, 90};

struct Program {
    std::string text, name, log, code;
};

// ----------------------------------------------------------------------------------------------------------- rewriting

// Returns the position after the closing quotation mark of the string that begins at `at`.
size_t string_end(const std::string &text, size_t at)
{
    for (at++; at < text.size() && text[at] != '"'; at++)
        if (text[at] == '\\') at++;
    return at + 1;
}

// Returns the position after the bracket that closes the one at `at`.
size_t bracket_end(const std::string &text, size_t at)
{
    int depth = 0;
    while (at < text.size()) {
        const char letter = text[at];
        if (letter == '"') {
            at = string_end(text, at);
            continue;
        }
        depth += (letter == '(') - (letter == ')');
        at++;
        if (depth == 0) return at;
    }
    return text.size();
}

// Returns the names of the instructions in a PTX text as a C++ identifier.
std::string instructions(const std::string &ptx)
{
    std::istringstream statements(std::regex_replace(ptx, std::regex("\\\\[nt]|[{};]|@!?\\w+"), "\n"));
    std::string all;
    for (std::string statement; std::getline(statements, statement);) {
        std::istringstream words(statement);
        std::string name;
        // Other words declare a register or are operands.
        if (words >> name && isalpha((unsigned char)name[0]))
            all += (all.empty() ? "" : "__") + std::regex_replace(name, std::regex("::|\\."), "_");
    }
    return all;
}

// Translates `asm volatile("name …" : "=r"(a) : "r"(b))` to `ptx_name(a, b)`.
std::string call_of(const std::string &within)
{
    std::string ptx, operands;
    int colons = 0;
    for (size_t at = 0; at < within.size();) {
        if (within[at] == '"') {
            const size_t end = string_end(within, at);
            if (colons == 0) ptx += within.substr(at + 1, end - at - 2);
            at = end;
        } else if (within[at] == '(') {
            const size_t end = bracket_end(within, at);
            operands += (operands.empty() ? "" : ", ") + within.substr(at, end - at);
            at = end;
        } else {
            colons += within[at++] == ':';
        }
    }
    return "ptx_" + instructions(ptx) + "(" + operands + ")";
}

std::string without_asm(const std::string &text)
{
    static const std::regex WORD("\\basm\\s*(volatile)?\\s*\\(");
    std::string plain;
    auto from = text.begin();
    for (std::smatch found; std::regex_search(from, text.end(), found, WORD);) {
        const size_t open = found[0].second - text.begin() - 1, end = bracket_end(text, open);
        plain.append(from, found[0].first);
        plain += call_of(text.substr(open + 1, end - open - 2));
        from = text.begin() + (ptrdiff_t)end;
    }
    return plain.append(from, text.end());
}

// Replaces declarations of dynamic shared memory by pointers to the array in `words.hpp`.
std::string without_dynamic_shared(const std::string &text)
{
    static const std::regex DECLARED("extern\\s+__shared__\\s+(?:\\w+\\([^)]*\\)\\s+)?(\\w+)\\s+(\\w+)\\s*\\[\\s*\\]");
    if (!std::regex_search(text, DECLARED)) return text;
    return std::regex_replace(text, DECLARED, "$1 *const $2 = ($1 *)emulated::dynamic_shared");
}

// ----------------------------------------------------------------------------------------------------------- compiling

// Returns the folder of this library and of `words.hpp`.
std::string folder()
{
    Dl_info here;
    dladdr((void *)&folder, &here);
    const std::string path = here.dli_fname;
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string read(const std::string &path)
{
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

std::string quoted(const std::string &path) { return "'" + std::regex_replace(path, std::regex("'"), "'\\''") + "'"; }

// Runs a shell command and appends its output to `log`.
bool succeeds(const std::string &command, std::string &log)
{
    FILE *pipe = popen((command + " 2>&1").c_str(), "r");
    if (!pipe) return false;
    char part[4096];
    while (const size_t length = fread(part, 1, sizeof part, pipe)) log.append(part, length);
    return pclose(pipe) == 0;
}

uint64_t hash_of(const std::string &text)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (const unsigned char letter : text) hash = (hash ^ letter) * 0x100000001b3;
    return hash;
}

constexpr const char *COMPILER =
    "g++ -std=c++17 -O1 -w -ffp-contract=off -fno-strict-aliasing -fno-exceptions -fno-gnu-unique -fvisibility=hidden -fPIC";

std::set<std::string> kernels_in(const std::string &expanded)
{
    static const std::regex KERNEL("\\bemulated_global\\s+void\\s+(\\w+)\\s*\\(");
    std::set<std::string> names;
    for (std::sregex_iterator found(expanded.begin(), expanded.end(), KERNEL), none; found != none; ++found)
        names.insert((*found)[1]);
    return names;
}

// Compiles a program to the shared library at `library`. Returns whether that succeeded.
bool compile(Program &program, const std::string &capability, const std::string &library)
{
    const std::string source = library + ".cpp", expanded = library + ".ii", made = library + ".new";
    const std::string text = without_dynamic_shared(without_asm(program.text));
    std::ofstream(source) << "#define __CUDA_ARCH__ " << capability << "0\n"
                          << (text.find("emulated::dynamic_shared") == std::string::npos
                                  ? ""
                                  : "#define EMULATED_DYNAMIC_SHARED 232448\n")
                          << "#define __global__ emulated_global\n#include \"words.hpp\"\n#line 1 \"" << program.name << "\"\n"
                          << text;
    const std::string include = " -I" + quoted(folder()) + " ";
    if (!succeeds(COMPILER + include + "-E -o " + quoted(expanded) + " " + quoted(source), program.log)) return false;
    std::string unit = read(expanded);
    const std::set<std::string> kernels = kernels_in(unit);
    unit = "#define emulated_global\n" + unit + "\n#line 1 \"entries\"\n";
    for (const std::string &name : kernels)
        unit += "extern \"C\" __attribute__((visibility(\"default\"))) const emulated::Kernel emulated_kernel_" + name +
                " = emulated::Entry<&" + name + ">::kernel;\n";
    std::ofstream(source) << unit;
    const bool is_made =
        succeeds(COMPILER + include + "-shared -o " + quoted(made) + " " + quoted(source) + " -L" + quoted(folder()) +
                     " -l:libcuda.so.1",
                 program.log);
    unlink(expanded.c_str());
    if (!is_made) return false;
    unlink(source.c_str());
    return rename(made.c_str(), library.c_str()) == 0;
}

}  // namespace

#define API extern "C" __attribute__((visibility("default")))

API Status nvrtcVersion(int *major, int *minor)
{
    *major = 12;
    *minor = 2;
    return SUCCESS;
}

API Status nvrtcGetNumSupportedArchs(int *count)
{
    *count = (int)std::size(CAPABILITIES);
    return SUCCESS;
}

API Status nvrtcGetSupportedArchs(int *capabilities)
{
    memcpy(capabilities, CAPABILITIES, sizeof CAPABILITIES);
    return SUCCESS;
}

API Status nvrtcCreateProgram(
    Program **program, const char *text, const char *name, int headers, const char **, const char **)
{
    if (headers != 0) return INVALID_INPUT;
    *program = new Program{text, name ? name : "kernel.cu", "", ""};
    return SUCCESS;
}

API Status nvrtcDestroyProgram(Program **program)
{
    delete *program;
    *program = nullptr;
    return SUCCESS;
}

// Compiles a program, unless an identical one exists already. The code is the path of the library.
API Status nvrtcCompileProgram(Program *program, int count, const char **options)
{
    std::string capability = "75";
    for (int option = 0; option < count; option++)
        if (strncmp(options[option], "--gpu-architecture=", 19) == 0)
            capability = std::regex_replace(options[option] + 19, std::regex("\\D"), "");
    const std::string kernels = folder() + "/kernels";
    mkdir(kernels.c_str(), 0777);
    const std::string all = program->name + '\0' + program->text + '\0' + capability + COMPILER +
                            read(folder() + "/words.hpp") + read(folder() + "/machine.hpp");
    char name[24];
    snprintf(name, sizeof name, "/%016llx.so", (unsigned long long)hash_of(all));
    const std::string library = kernels + name;
    const int lock = open((library + ".lock").c_str(), O_CREAT | O_CLOEXEC | O_RDWR, 0666);
    flock(lock, LOCK_EX);
    struct stat known;
    const bool is_there = stat(library.c_str(), &known) == 0 || compile(*program, capability, library);
    close(lock);
    if (!is_there) {
        if (program->log.empty()) program->log = "the emulator cannot write " + library;
        return COMPILATION;
    }
    program->log.clear();
    program->code = "emulated " + library;
    return SUCCESS;
}

API Status nvrtcGetProgramLogSize(Program *program, size_t *size)
{
    *size = program->log.size() + 1;
    return SUCCESS;
}

API Status nvrtcGetProgramLog(Program *program, char *log)
{
    memcpy(log, program->log.c_str(), program->log.size() + 1);
    return SUCCESS;
}

API Status nvrtcGetPTXSize(Program *program, size_t *size)
{
    *size = program->code.size() + 1;
    return SUCCESS;
}

API Status nvrtcGetPTX(Program *program, char *code)
{
    memcpy(code, program->code.c_str(), program->code.size() + 1);
    return SUCCESS;
}

API Status nvrtcGetCUBINSize(Program *program, size_t *size) { return nvrtcGetPTXSize(program, size); }
API Status nvrtcGetCUBIN(Program *program, char *code) { return nvrtcGetPTX(program, code); }

API const char *nvrtcGetErrorString(Status status)
{
    switch (status) {
        case SUCCESS: return "NVRTC_SUCCESS";
        case INVALID_INPUT: return "NVRTC_ERROR_INVALID_INPUT";
        case COMPILATION: return "NVRTC_ERROR_COMPILATION";
    }
    return "NVRTC_ERROR";
}
