// Runs kernels on the host. Reads arguments from stdin, and writes the buffers that a kernel may write to stdout.

namespace stages {

using Bytes = std::vector<unsigned char>;

inline void read_exactly(void *to, size_t bytes) {
    if (fread(to, 1, bytes, stdin) != bytes) exit(3);
}

inline Bytes read_bytes() {
    unsigned length;
    read_exactly(&length, sizeof length);
    Bytes bytes(length);
    read_exactly(bytes.data(), length);
    return bytes;
}

// The target of a pointer field of a struct, and whether the kernel may write it.
struct Field {
    unsigned offset, is_written;
    Bytes bytes;
};

// An argument: its bytes, or those of a pointer's target, and the targets of the pointer fields of a struct.
struct Received {
    Bytes bytes;
    std::vector<Field> fields;
};

inline Received read_argument() {
    Received received = {read_bytes(), {}};
    unsigned field_count;
    read_exactly(&field_count, sizeof field_count);
    for (unsigned field = 0; field < field_count; field++) {
        unsigned head[2];
        read_exactly(head, sizeof head);
        received.fields.push_back({head[0], head[1], read_bytes()});
    }
    return received;
}

// Converts received bytes to an argument: a pointer, or a value whose pointer fields are set.
template <class T>
T argument(Received &received) {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<T>(received.bytes.data());
    } else {
        T value;
        if (received.bytes.size() != sizeof value) exit(4);
        for (Field &field : received.fields) {
            unsigned char *place = field.bytes.data();
            memcpy(received.bytes.data() + field.offset, &place, sizeof place);
        }
        memcpy(&value, received.bytes.data(), sizeof value);
        return value;
    }
}

inline void write_bytes(const Bytes &bytes) { fwrite(bytes.data(), 1, bytes.size(), stdout); }

// Sends back the buffers that the kernel may have written.
template <class T>
void write_back(const Received &received) {
    if (std::is_pointer_v<T> && !std::is_const_v<std::remove_pointer_t<T>>) write_bytes(received.bytes);
    for (const Field &field : received.fields) {
        if (field.is_written) write_bytes(field.bytes);
    }
}

template <class... Arguments, size_t... place>
void launch(void (*kernel)(Arguments...), unsigned blocks, std::index_sequence<place...>) {
    Received received[sizeof...(Arguments)];
    for (Received &each : received) each = read_argument();
    std::tuple<Arguments...> arguments{argument<Arguments>(received[place])...};
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) std::apply(kernel, arguments);
    (write_back<Arguments>(received[place]), ...);
    fflush(stdout);
}

template <class... Arguments>
void launch(void (*kernel)(Arguments...), unsigned blocks) {
    launch(kernel, blocks, std::index_sequence_for<Arguments...>());
}

}  // namespace stages
