/** A thread that encodes one picture, whose pixels would block the server. A separate bundle entry. */
import { answerTask } from '../../thread.js';
import { type Encoding, encodeStrips, type Strips } from './encode.js';

export interface PictureTask {
  strips: Strips;
  encoding: Encoding;
}

await answerTask(({ strips, encoding }: PictureTask) => encodeStrips(strips, encoding));
