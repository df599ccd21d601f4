//! Runs as text, JSON, Markdown and JUnit.
