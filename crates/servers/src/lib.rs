//! Private throw-away database servers: where they come from, how they start and end.
