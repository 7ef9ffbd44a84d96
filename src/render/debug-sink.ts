/** Receives what a capture tells of itself, for `stillframe capture --debug`. */
export interface DebugSink {
  /** One step of the timeline, as plain data. */
  note(entry: Record<string, unknown>): void;
  /** One band of a picture, or one view that is taken at its own scroll position, as a png. */
  picture(png: Uint8Array): void;
}
