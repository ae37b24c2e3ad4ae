//! Bodies that are changed as they pass. Decision: in bytes that come in parts, and with no more held
//! back than what could be the beginning of something that is changed.

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::HeaderMap;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Why a body broke off.
pub(crate) type BodyError = Box<dyn Error + Send + Sync>;

/// What changes a body.
pub(crate) trait Filter: Send {
    /// What a part becomes, or the beginning of that.
    fn part(&mut self, part: &Bytes) -> Result<Vec<u8>, String>;
    /// Whether more is to come of that.
    fn has_rest(&self) -> bool {
        false
    }
    /// Some more of it.
    fn rest(&mut self) -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }
    /// What is left at the end, or the beginning of that.
    fn end(&mut self) -> Result<Vec<u8>, String>;
    /// What comes behind the rest.
    fn trailers(&mut self, _trailers: &mut HeaderMap) -> Result<(), String> {
        Ok(())
    }
    /// Bytes that wait for the next part; none where what comes out has another length.
    fn waiting(&self) -> Option<usize>;
}

/// A body that is changed.
pub(crate) struct Filtered<B> {
    body: B,
    filter: Box<dyn Filter>,
    /// What comes behind the rest.
    trailers: Option<HeaderMap>,
    ended: bool,
    /// Others had their turn since something was given of the rest of a part.
    gave_way: bool,
}

impl<B> Filtered<B> {
    pub(crate) fn new(body: B, filter: Box<dyn Filter>) -> Self {
        Self {
            body,
            filter,
            trailers: None,
            ended: false,
            gave_way: false,
        }
    }

    /// It ends here, for this reason.
    fn broken(&mut self, why: String) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        (self.ended, self.trailers) = (true, None);
        Poll::Ready(Some(Err(why.into())))
    }
}

impl<B> Body for Filtered<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BodyError>,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        loop {
            if this.filter.has_rest() {
                if !std::mem::replace(&mut this.gave_way, true) {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                this.gave_way = false;
                match this.filter.rest() {
                    Ok(out) if out.is_empty() => continue,
                    Ok(out) => return Poll::Ready(Some(Ok(Frame::data(out.into())))),
                    Err(why) => return this.broken(why),
                }
            }
            if this.ended {
                let trailers = this.trailers.take();
                return Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))));
            }
            let frame = match Pin::new(&mut this.body).poll_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error.into()))),
                Poll::Ready(Some(Ok(frame))) => Some(frame),
                Poll::Ready(None) => None,
            };
            let out = match frame.map(Frame::into_data) {
                Some(Ok(data)) => this.filter.part(&data),
                Some(Err(other)) => {
                    this.trailers = other.into_trailers().ok();
                    this.ended = true;
                    let trailers = this.trailers.as_mut();
                    let done = trailers.map_or(Ok(()), |t| this.filter.trailers(t));
                    done.and_then(|()| this.filter.end())
                }
                None => {
                    this.ended = true;
                    this.filter.end()
                }
            };
            match out {
                Ok(out) if out.is_empty() => {}
                Ok(out) => return Poll::Ready(Some(Ok(Frame::data(out.into())))),
                Err(why) => return this.broken(why),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self.ended {
            true => self.trailers.is_none() && !self.filter.has_rest(),
            false => self.body.is_end_stream() && self.filter.waiting() == Some(0),
        }
    }

    fn size_hint(&self) -> SizeHint {
        let Some(waiting) = self.filter.waiting() else {
            return SizeHint::default();
        };
        let (mut hint, of) = (SizeHint::new(), self.body.size_hint());
        hint.set_lower(of.lower() + waiting as u64);
        if let Some(upper) = of.upper() {
            hint.set_upper(upper + waiting as u64);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::Full;

    /// Makes so many of each part.
    struct Many(usize, usize);

    impl Filter for Many {
        fn part(&mut self, part: &Bytes) -> Result<Vec<u8>, String> {
            self.1 = self.0 - 1;
            Ok(part.to_vec())
        }

        fn has_rest(&self) -> bool {
            self.1 > 0
        }

        fn rest(&mut self) -> Result<Vec<u8>, String> {
            self.1 -= 1;
            // Nothing comes of one of them.
            Ok(vec![b'x'; usize::from(self.1 != 1)])
        }

        fn end(&mut self) -> Result<Vec<u8>, String> {
            Ok(Vec::new())
        }

        fn waiting(&self) -> Option<usize> {
            None
        }
    }

    #[test]
    fn others_have_their_turn_before_more_of_a_part_is_given() {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let body = Full::new(Bytes::from_static(b"x"));
        let mut body = Filtered::new(body, Box::new(Many(4, 0)));
        let mut seen = String::new();
        while seen.len() < 100 {
            match Pin::new(&mut body).poll_frame(&mut cx) {
                Poll::Pending => seen.push('.'),
                Poll::Ready(Some(frame)) => {
                    assert_eq!(frame.unwrap().into_data().unwrap(), "x");
                    assert!(!body.is_end_stream());
                    seen.push('x');
                }
                Poll::Ready(None) => break,
            }
        }
        assert_eq!(seen, "x.x..x");
    }
}
