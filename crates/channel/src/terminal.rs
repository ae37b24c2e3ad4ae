//! A terminal's modes and size as the protocol carries them. Both sides read the control characters by
//! one list: by two they would come to differ.

use crate::schema::{Modes, Size};
use rustix::termios::{
    ControlModes, InputModes, LocalModes, OutputModes, SpecialCodeIndex, Termios, Winsize,
};

/// Control characters that are carried over, in the order of Linux's `c_cc`.
const SPECIAL: [SpecialCodeIndex; 17] = [
    SpecialCodeIndex::VINTR,
    SpecialCodeIndex::VQUIT,
    SpecialCodeIndex::VERASE,
    SpecialCodeIndex::VKILL,
    SpecialCodeIndex::VEOF,
    SpecialCodeIndex::VTIME,
    SpecialCodeIndex::VMIN,
    SpecialCodeIndex::VSWTC,
    SpecialCodeIndex::VSTART,
    SpecialCodeIndex::VSTOP,
    SpecialCodeIndex::VSUSP,
    SpecialCodeIndex::VEOL,
    SpecialCodeIndex::VREPRINT,
    SpecialCodeIndex::VDISCARD,
    SpecialCodeIndex::VWERASE,
    SpecialCodeIndex::VLNEXT,
    SpecialCodeIndex::VEOL2,
];

impl Modes {
    /// Gives a terminal these modes.
    pub fn apply(&self, termios: &mut Termios) {
        termios.input_modes = InputModes::from_bits_retain(self.input);
        termios.output_modes = OutputModes::from_bits_retain(self.output);
        termios.control_modes = ControlModes::from_bits_retain(self.control);
        termios.local_modes = LocalModes::from_bits_retain(self.local);
        for (index, byte) in SPECIAL.into_iter().zip(&self.special) {
            termios.special_codes[index] = *byte;
        }
    }
}

impl From<&Termios> for Modes {
    fn from(termios: &Termios) -> Self {
        Self {
            input: termios.input_modes.bits(),
            output: termios.output_modes.bits(),
            control: termios.control_modes.bits(),
            local: termios.local_modes.bits(),
            special: SPECIAL
                .iter()
                .map(|index| termios.special_codes[*index])
                .collect(),
        }
    }
}

impl From<Winsize> for Size {
    fn from(size: Winsize) -> Self {
        Self {
            rows: size.ws_row,
            columns: size.ws_col,
            width: size.ws_xpixel,
            height: size.ws_ypixel,
        }
    }
}

impl From<Size> for Winsize {
    fn from(size: Size) -> Self {
        Self {
            ws_row: size.rows,
            ws_col: size.columns,
            ws_xpixel: size.width,
            ws_ypixel: size.height,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, OFlags, open};
    use rustix::termios::tcgetattr;

    #[test]
    fn modes_and_sizes_come_back_as_they_were() {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = open("/dev/ptmx", flags, Mode::empty()).unwrap();
        let mut termios = tcgetattr(&terminal).unwrap();
        let before = Modes::from(&termios);
        let mut other = before.clone();
        other.local ^= LocalModes::ECHO.bits();
        other.special[0] = 0x07;
        other.apply(&mut termios);
        assert_eq!(Modes::from(&termios), other);
        assert_ne!(other, before);
        let size = Size {
            rows: 1,
            columns: 2,
            width: 3,
            height: 4,
        };
        assert_eq!(Size::from(Winsize::from(size)), size);
    }
}
