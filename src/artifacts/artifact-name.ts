import { randomBytes } from 'node:crypto';

/** Lower case only, for case-insensitive file systems; 32 characters, so that random bytes map without bias. */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
/** Each character holds 5 bits: 160 random bits (decisions.md, Envelope, ids, headers: at least 128). */
const NAME_CHARS = 32;

const EXTENSIONS = ['png', 'jpeg', 'webp', 'avif', 'bmp', 'gif', 'mp4', 'pdf', 'txt'];
const NAME_PATTERN = new RegExp(`^[a-z2-7]{${NAME_CHARS}}\\.(?:${EXTENSIONS.join('|')})$`);
const PACK_PATTERN = new RegExp(`^[a-z2-7]{${NAME_CHARS}}\\.files$`);

/**
 * Generates an unguessable name.
 * @throws Error for an extension that no capture has
 */
export function newArtifactName(extension: string): string {
  if (!EXTENSIONS.includes(extension)) throw new Error(`"${extension}" is not one of ${EXTENSIONS.join(', ')}`);
  return `${newStem()}.${extension}`;
}

/** Generates a name for the files of a request, which no artifact has. */
export function newPackName(): string {
  return `${newStem()}.files`;
}

function newStem(): string {
  let name = '';
  for (const byte of randomBytes(NAME_CHARS)) name += ALPHABET.charAt(byte & 31);
  return name;
}

/** Returns whether `newArtifactName` could have made the text; nothing else may become part of a path. */
export function isArtifactName(text: string): boolean {
  return NAME_PATTERN.test(text);
}

export function isPackName(text: string): boolean {
  return PACK_PATTERN.test(text);
}

/** Returns whether the text is the name of something that the storage keeps. */
export function isStoredName(text: string): boolean {
  return isArtifactName(text) || isPackName(text);
}

/** Returns the subdirectory of an artifact, so that no directory gets too large to list quickly. */
export function shardOf(name: string): string {
  return name.slice(0, 2);
}
