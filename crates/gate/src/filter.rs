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
    /// What a part becomes.
    fn part(&mut self, part: &[u8]) -> Result<Vec<u8>, String>;
    /// What is left at the end.
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
}

impl<B> Filtered<B> {
    pub(crate) fn new(body: B, filter: Box<dyn Filter>) -> Self {
        Self {
            body,
            filter,
            trailers: None,
            ended: false,
        }
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
                Err(why) => {
                    (this.ended, this.trailers) = (true, None);
                    return Poll::Ready(Some(Err(why.into())));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self.ended {
            true => self.trailers.is_none(),
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
