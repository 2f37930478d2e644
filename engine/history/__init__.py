"""What ran, kept in one SQLite file: runs, their steps, lines, trees and envelopes, and an audit of what was asked for."""
