/** Receives the steps and pictures of one capture, for `stillframe capture --debug`. */
export interface DebugSink {
  /** Records one step of the timeline, as plain data. */
  note(entry: Record<string, unknown>): void;
  /** Records one band of a picture, or one view at its own scroll position, as a PNG. */
  picture(png: Uint8Array): void;
}
