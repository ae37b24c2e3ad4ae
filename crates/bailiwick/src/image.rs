//! `bailiwick image`.

use crate::Done;
use crate::machine;
use crate::output;
use bailiwick_event::Failure;
use bailiwick_vm::image::{self, Options, Progress, Role};
use bailiwick_vm::{MachineShape, make_template, probe};
use clap::{Args, Subcommand};
use std::io::{IsTerminal, Write, stderr};
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Args)]
pub(crate) struct ImageArguments {
    #[command(subcommand)]
    command: ImageCommand,
}

#[derive(Subcommand)]
enum ImageCommand {
    /// Build images that are not there as they are asked for; it takes minutes and the network
    Build {
        /// Shipped images (code, agents), or specs of your own: files that end in .toml
        #[arg(default_value = "code", value_name = "NAME|FILE")]
        images: Vec<String>,
        /// Build also what is there, with the packages of today
        #[arg(long)]
        force: bool,
        /// Where packages come from: an address, or a line as in sources.list; may be given again
        /// [default: $BAILIWICK_MIRROR, else where this machine's come from, if it is of the same
        /// release]
        #[arg(long, value_name = "URL|LINE")]
        mirror: Vec<String>,
    },
    /// One line per image
    List {
        /// One JSON object per line: the manifests
        #[arg(long)]
        json: bool,
    },
    /// Hash every part of images in full
    Verify {
        /// The images [default: all]
        images: Vec<String>,
    },
    /// Remove parts that no image names, unless a machine runs on them, and what interrupted builds
    /// have left
    Gc,
    /// Start a machine on the processor itself, and fail where that does not run it
    #[command(hide = true)]
    Probe {
        /// The image
        image: String,
    },
    /// Start a machine once and keep it as the template that runs copy
    Template {
        /// The image
        #[arg(default_value = "code")]
        image: String,
        /// The machine's memory [default: 1GiB]
        #[arg(long, value_name = "SIZE", value_parser = machine::size)]
        memory: Option<u64>,
        /// How many processors the machine has
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
        cpus: u32,
        /// The size of its own disk
        #[arg(long, value_name = "SIZE", value_parser = machine::disk_size, hide = true)]
        disk: Option<u64>,
    },
}

/// Builds, lists, checks and removes images.
pub(crate) fn image(arguments: &ImageArguments) -> Done {
    let cache = image::cache_folder()?;
    match &arguments.command {
        ImageCommand::Build {
            images,
            force,
            mirror,
        } => build(&cache, images, *force, mirror),
        ImageCommand::List { json } => list(&cache, *json),
        ImageCommand::Verify { images } => verify(&cache, images),
        ImageCommand::Probe { image } => {
            probe(image)?;
            Ok(0)
        }
        ImageCommand::Template {
            image,
            memory,
            cpus,
            disk,
        } => {
            make_template(&MachineShape {
                image: image.clone(),
                memory: *memory,
                cpus: *cpus,
                cold: true,
                disk: *disk,
                accelerator: None,
            })?;
            Ok(0)
        }
        ImageCommand::Gc => {
            let collected = image::collect(&cache, &mut |holder| {
                output::note(&format!("a build goes on ({holder}); waiting for it"));
            })?;
            let held = match collected.held {
                0 => String::new(),
                held => format!("; {held} more held by machines that run"),
            };
            output::print(&format!(
                "{} removed, {} freed{held}\n",
                collected.removed,
                megabytes(collected.freed)
            ))?;
            Ok(0)
        }
    }
}

fn build(cache: &Path, images: &[String], force: bool, mirrors: &[String]) -> Done {
    for name in images {
        let options = Options {
            image: name.clone(),
            force,
            mirrors: mirrors.to_vec(),
        };
        let begun = Instant::now();
        let mut bar = Bar::new();
        let built = image::build(cache, &options, &mut |progress| bar.show(&progress));
        bar.clear();
        let built = built?;
        let image = built.image;
        if !built.made {
            output::print(&format!(
                "{} is there as it is asked for ({}); --force builds it again with the packages of \
                 today\n",
                image.name,
                short(&image.id)
            ))?;
            continue;
        }
        let size = |role| megabytes(image.manifest.part(role).map_or(0, |part| part.size));
        output::print(&format!(
            "{} is built in {} s: kernel {} ({}), root file system {} ({} packages), image {}\n",
            image.name,
            begun.elapsed().as_secs(),
            image.manifest.kernel.version,
            size(Role::Kernel),
            size(Role::Rootfs),
            image.manifest.packages.len(),
            short(&image.id)
        ))?;
    }
    Ok(0)
}

fn list(cache: &Path, json: bool) -> Done {
    let listed = image::list(cache)?;
    if listed.is_empty() && !json {
        output::note("there are no images; `bailiwick image build` makes one");
    }
    let mut code = 0;
    let mut table = output::table();
    for entry in listed {
        let (manifest, id) = match entry.image {
            Ok(image) => image,
            Err(failure) => {
                output::complain(&failure);
                code = failure.exit_code();
                continue;
            }
        };
        if json {
            let mut value = serde_json::to_value(&manifest)
                .map_err(|e| Failure::fault(format!("the manifest cannot be written: {e}")))?;
            value["id"] = id.into();
            output::print(&(bailiwick_event::json::of(&value) + "\n"))?;
            continue;
        }
        let size: u64 = manifest.parts.iter().map(|part| part.size).sum();
        table.add_row([
            manifest.name,
            short(&id).to_owned(),
            format!("Debian {}", manifest.suite),
            format!("Linux {}", manifest.kernel.version),
            format!("{} packages", manifest.packages.len()),
            megabytes(size),
        ]);
    }
    if table.row_count() > 0 {
        output::print(&format!("{}\n", table.trim_fmt()))?;
    }
    Ok(code)
}

fn verify(cache: &Path, images: &[String]) -> Done {
    let all = || image::list(cache).map(|all| all.into_iter().map(|image| image.name).collect());
    let images = match images {
        [] => all()?,
        some => some.to_vec(),
    };
    let mut code = 0;
    for name in images {
        // What is wrong with one image is no reason to say nothing of the next.
        match image::verify(cache, &name) {
            Ok(parts) => {
                let roles: Vec<_> = parts.iter().map(|part| part.role.name()).collect();
                output::print(&format!(
                    "{name}: {} are as they were built\n",
                    roles.join(", ")
                ))?;
            }
            Err(failure) => {
                output::complain(&failure);
                code = failure.exit_code().max(code);
            }
        }
    }
    Ok(code)
}

fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

fn megabytes(bytes: u64) -> String {
    format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000)
}

/// How often a bar is drawn at most.
const PERIOD: Duration = Duration::from_millis(100);
/// How wide it is, in characters.
const WIDTH: usize = 24;

/// The progress of a build on stderr: a bar on a terminal, a line per step elsewhere.
struct Bar {
    terminal: bool,
    step: String,
    begun: Instant,
    drawn: Option<Instant>,
}

impl Bar {
    fn new() -> Self {
        Self {
            terminal: stderr().is_terminal(),
            step: String::new(),
            begun: Instant::now(),
            drawn: None,
        }
    }

    fn show(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Step(step) => {
                self.step = (*step).to_owned();
                self.drawn = None;
                match self.terminal {
                    true => self.draw(0.0),
                    false => output::note(&format!("{step} …")),
                }
            }
            Progress::Done(fraction) => {
                let due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= PERIOD);
                if self.terminal && due {
                    self.draw(*fraction);
                }
            }
            Progress::Note(note) => {
                self.clear();
                output::note(note);
            }
        }
    }

    fn draw(&mut self, fraction: f32) {
        self.drawn = Some(Instant::now());
        let full = (0..WIDTH)
            .filter(|at| (*at as f32 + 0.5) / (WIDTH as f32) < fraction)
            .count();
        let seconds = self.begun.elapsed().as_secs();
        let _ = write!(
            stderr().lock(),
            "\r\x1b[K{:<32} [{}{}] {}:{:02}",
            self.step,
            "#".repeat(full),
            ".".repeat(WIDTH - full),
            seconds / 60,
            seconds % 60
        );
    }

    /// Takes the bar away, so that a line can be written in its place.
    fn clear(&mut self) {
        if self.terminal && self.drawn.take().is_some() {
            let _ = write!(stderr().lock(), "\r\x1b[K");
        }
    }
}
