// SPDX-License-Identifier: Apache-2.0
#include "neap/target/board.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace neap::target {
namespace {

constexpr std::string_view kDtcmSource = "Zephyr dts/arm/st/h7/stm32h743.dtsi";
constexpr std::string_view kDualSource = "Zephyr dts/arm/st/h7/stm32h745Xi_m7.dtsi";
constexpr std::string_view kVelaSource =
    "Arm Vela, ethosu/config_files/Arm/vela.ini (NXP's copy, nxp-imx/ethos-u-vela)";
constexpr BoardMemory kDtcm{"DTCM", 131072, kDtcmSource};
constexpr BoardMemory kDualDtcm{"DTCM", 131072, kDualSource};
constexpr BoardMemory kDualAxi{"AXI SRAM", 524288, "Zephyr dts/arm/st/h7/stm32h745.dtsi"};
constexpr std::array kH743 = {kDtcm, BoardMemory{"AXI SRAM", 524288, kDtcmSource}};
constexpr std::array kH747 = {kDualDtcm, kDualAxi};
constexpr std::array kPortenta = {
    kDualDtcm, kDualAxi,
    BoardMemory{"SDRAM", 8388608,
                "Zephyr boards/arduino/portenta_h7/arduino_portenta_h7_stm32h747xx_m7.dts"}};
constexpr std::array kGiga = {
    kDualDtcm, kDualAxi,
    BoardMemory{"SDRAM", 8388608,
                "Zephyr boards/arduino/giga_r1/arduino_giga_r1_stm32h747xx_m7.dts"}};
constexpr std::array kEsp32S3 = {
    BoardMemory{
        "SRAM", 524288,
        "TinyGo documentation, Seeed Studio XIAO ESP32S3; the chip's data sheet was not read"},
    BoardMemory{
        "PSRAM", 8388608,
        "Zephyr boards/seeed/xiao_esp32s3/xiao_esp32s3_procpu_common.dtsi: esp32s3_wroom_n8r8"}};
constexpr std::array kRp2350 = {
    BoardMemory{"SRAM", 532480, "Zephyr boards/raspberrypi/rpi_pico2/rpi_pico2_rp2350a_m33.yaml"}};
constexpr std::array kDedicated384 = {BoardMemory{"SRAM", 393216, kVelaSource},
                                      BoardMemory{"DRAM", 0, kVelaSource}};
constexpr std::array kDedicated512 = {BoardMemory{"SRAM", 524288, kVelaSource},
                                      BoardMemory{"DRAM", 0, kVelaSource}};

// By vendor. Figures of the sources, restated: files of the public repositories of PlatformIO
// (github.com/platformio) and of the Zephyr project (github.com/zephyrproject-rtos/zephyr).
constexpr std::array kBoards = {
    Board{"nano-33-ble", "Arduino Nano 33 BLE (Sense)", "nRF52840", 262144, 983040,
          "cortex-m4+cmsis-nn", "PlatformIO platform-nordicnrf52, boards/nano33ble.json"},
    Board{"nano-33-iot", "Arduino Nano 33 IoT", "SAMD21G18A", 32768, 262144, "cortex-m0+cmsis-nn",
          "PlatformIO platform-atmelsam, boards/nano_33_iot.json"},
    Board{"nano-rp2040-connect", "Arduino Nano RP2040 Connect", "RP2040", 270336, 2097152,
          "cortex-m0+cmsis-nn", "PlatformIO platform-raspberrypi, boards/nanorp2040connect.json"},
    Board{"nicla-vision", "Arduino Nicla Vision", "STM32H747, M7 core", 523624, 786432,
          "cortex-m7+cmsis-nn", "PlatformIO platform-ststm32, boards/nicla_vision.json", kH747},
    Board{"portenta-h7", "Arduino Portenta H7", "STM32H747, M7 core", 523624, 786432,
          "cortex-m7+cmsis-nn", "PlatformIO platform-ststm32, boards/portenta_h7_m7.json",
          kPortenta},
    Board{"giga-r1", "Arduino GIGA R1 WiFi", "STM32H747, M7 core", 523624, 786432,
          "cortex-m7+cmsis-nn", "PlatformIO platform-ststm32, boards/giga_r1_m7.json", kGiga},
    Board{"arduino-zero", "Arduino Zero", "SAMD21G18A", 32768, 262144, "cortex-m0+cmsis-nn",
          "PlatformIO platform-atmelsam, boards/zeroUSB.json"},
    Board{"pico", "Raspberry Pi Pico", "RP2040", 270336, 2097152, "cortex-m0+cmsis-nn",
          "PlatformIO platform-raspberrypi, boards/pico.json"},
    Board{"pico-2", "Raspberry Pi Pico 2", "RP2350, Cortex-M33", 532480, 4194304,
          "cortex-m33+cmsis-nn", "Zephyr boards/raspberrypi/rpi_pico2/rpi_pico2_rp2350a_m33.yaml",
          kRp2350},
    Board{"microbit-v2", "BBC micro:bit V2", "nRF52833", 131072, 524288, "cortex-m4+cmsis-nn",
          "RAM: Zephyr boards/arm/bbc_microbit_v2/bbc_microbit_v2.yaml; flash: PlatformIO "
          "platform-nordicnrf52, boards/bbcmicrobit_v2.json"},
    Board{"nrf52-dk", "Nordic nRF52 DK", "nRF52832", 65536, 524288, "cortex-m4+cmsis-nn",
          "PlatformIO platform-nordicnrf52, boards/nrf52_dk.json"},
    Board{"nrf52840-dk", "Nordic nRF52840 DK", "nRF52840", 262144, 1048576, "cortex-m4+cmsis-nn",
          "PlatformIO platform-nordicnrf52, boards/nrf52840_dk.json"},
    Board{"nrf5340-dk", "Nordic nRF5340 DK", "nRF5340, application core", 458752, 1048576,
          "cortex-m33+cmsis-nn", "Zephyr boards/nordic/nrf5340dk/nrf5340dk_nrf5340_cpuapp.yaml"},
    Board{"thingy-53", "Nordic Thingy:53", "nRF5340, application core", 458752, 1048576,
          "cortex-m33+cmsis-nn", "Zephyr boards/nordic/thingy53/thingy53_nrf5340_cpuapp.yaml"},
    Board{"xiao-nrf52840", "Seeed Studio XIAO nRF52840", "nRF52840", 262144, 1048576,
          "cortex-m4+cmsis-nn", "Zephyr boards/seeed/xiao_ble/xiao_ble.yaml"},
    Board{"xiao-esp32s3", "Seeed Studio XIAO ESP32S3", "ESP32-S3", 327680, 8388608,
          "esp32s3+esp-nn", "PlatformIO platform-espressif32, boards/seeed_xiao_esp32s3.json",
          kEsp32S3},
    Board{"wio-terminal", "Seeed Studio Wio Terminal", "ATSAMD51P19", 196608, 524288,
          "cortex-m4+cmsis-nn", "Zephyr boards/seeed/wio_terminal/wio_terminal.yaml"},
    Board{"esp32-devkitc", "Espressif ESP32-DevKitC", "ESP32", 327680, 4194304, "esp32+esp-nn",
          "PlatformIO platform-espressif32, boards/esp32dev.json"},
    Board{"esp32-c3-devkitm-1", "Espressif ESP32-C3-DevKitM-1", "ESP32-C3", 327680, 4194304,
          "esp32c3+esp-nn", "PlatformIO platform-espressif32, boards/esp32-c3-devkitm-1.json"},
    Board{"nucleo-f401re", "ST NUCLEO-F401RE", "STM32F401RE", 98304, 524288, "cortex-m4+cmsis-nn",
          "PlatformIO platform-ststm32, boards/nucleo_f401re.json"},
    Board{"nucleo-f411re", "ST NUCLEO-F411RE", "STM32F411RE", 131072, 524288, "cortex-m4+cmsis-nn",
          "PlatformIO platform-ststm32, boards/nucleo_f411re.json"},
    Board{"nucleo-f446re", "ST NUCLEO-F446RE", "STM32F446RE", 131072, 524288, "cortex-m4+cmsis-nn",
          "PlatformIO platform-ststm32, boards/nucleo_f446re.json"},
    Board{"nucleo-f767zi", "ST NUCLEO-F767ZI", "STM32F767ZI", 524288, 2097152, "cortex-m7+cmsis-nn",
          "PlatformIO platform-ststm32, boards/nucleo_f767zi.json"},
    Board{"nucleo-g474re", "ST NUCLEO-G474RE", "STM32G474RE", 131072, 524288, "cortex-m4+cmsis-nn",
          "PlatformIO platform-ststm32, boards/nucleo_g474re.json"},
    Board{"nucleo-h743zi", "ST NUCLEO-H743ZI", "STM32H743ZI, AXI SRAM", 524288, 2097152,
          "cortex-m7+cmsis-nn", "PlatformIO platform-ststm32, boards/nucleo_h743zi.json", kH743},
    Board{"nucleo-l4r5zi", "ST NUCLEO-L4R5ZI", "STM32L4R5ZI", 655360, 2097152, "cortex-m4+cmsis-nn",
          "PlatformIO platform-ststm32, boards/nucleo_l4r5zi.json"},
    Board{"nucleo-l552ze-q", "ST NUCLEO-L552ZE-Q", "STM32L552ZE, SRAM1", 196608, 524288,
          "cortex-m33+cmsis-nn", "Zephyr boards/st/nucleo_l552ze_q/nucleo_l552ze_q.yaml"},
    Board{"nucleo-u575zi-q", "ST NUCLEO-U575ZI-Q", "STM32U575ZI", 786432, 2097152,
          "cortex-m33+cmsis-nn", "PlatformIO platform-ststm32, boards/nucleo_u575zi_q.json"},
    Board{"b-l475e-iot01a", "ST B-L475E-IOT01A", "STM32L475VG, SRAM1", 98304, 1048576,
          "cortex-m4+cmsis-nn", "Zephyr boards/st/disco_l475_iot1/disco_l475_iot1.yaml"},
    Board{"b-u585i-iot02a", "ST B-U585I-IOT02A", "STM32U585AI", 786432, 2097152,
          "cortex-m33+cmsis-nn", "Zephyr boards/st/b_u585i_iot02a/b_u585i_iot02a.yaml"},
    Board{"stm32f4discovery", "ST STM32F4DISCOVERY", "STM32F407VG", 131072, 1048576,
          "cortex-m4+cmsis-nn", "PlatformIO platform-ststm32, boards/disco_f407vg.json"},
    Board{"32f746gdiscovery", "ST 32F746GDISCOVERY", "STM32F746NG", 327680, 1048576,
          "cortex-m7+cmsis-nn", "PlatformIO platform-ststm32, boards/disco_f746ng.json"},
    Board{"frdm-k64f", "NXP FRDM-K64F", "MK64FN1M0, upper SRAM", 196608, 1048576,
          "cortex-m4+cmsis-nn", "Zephyr boards/nxp/frdm_k64f/frdm_k64f.yaml"},
    Board{"frdm-mcxn947", "NXP FRDM-MCXN947", "MCXN947, core 0", 327680, 2097152,
          "cortex-m33+cmsis-nn", "Zephyr boards/nxp/frdm_mcxn947/frdm_mcxn947_mcxn947_cpu0.yaml"},
    Board{"teensy-4-1", "PJRC Teensy 4.1", "i.MX RT1062, one of two regions", 524288, 8126464,
          "cortex-m7+cmsis-nn", "PlatformIO platform-teensy, boards/teensy41.json"},
};

// The fast memory is that of a memory mode of the compiler Vela: its SRAM is the NPU's alone.
constexpr std::array kSystems = {
    Board{"ethos-u-sram-384k", "Arm Ethos-U65 or U85, dedicated SRAM", "Dedicated_Sram", 393216, 0,
          "", kVelaSource, kDedicated384},
    Board{"ethos-u-sram-512k", "Arm Ethos-U65 or U85, dedicated SRAM", "Dedicated_Sram_512KB",
          524288, 0, "", kVelaSource, kDedicated512},
};

}  // namespace

std::span<const Board> Boards() { return kBoards; }
std::span<const Board> MemorySystems() { return kSystems; }

const Board* BoardNamed(std::string_view name) {
  for (const std::span<const Board> table : {Boards(), MemorySystems()}) {
    for (const Board& row : table) {
      if (row.name == name) return &row;
    }
  }
  return nullptr;
}

std::vector<BoardMemory> MemoriesOf(const Board& board) {
  if (board.memories.empty()) return {{"RAM", board.ram_bytes, board.source}};
  return {board.memories.begin(), board.memories.end()};
}

std::int64_t FastBytesOf(const Board& board) {
  return std::min(MemoriesOf(board).front().bytes, board.ram_bytes);
}

std::optional<std::int64_t> SlowBytesOf(const Board& board) {
  std::optional<std::int64_t> most;
  for (std::size_t i = 1; i < board.memories.size(); ++i) {
    const std::int64_t bytes = board.memories[i].bytes;
    if (bytes == 0) return 0;
    most = std::max(most.value_or(0), bytes);
  }
  return most;
}

}  // namespace neap::target
