/** At most so many UTF-16 units, never ending inside a surrogate pair. */
export function cutText(text: string, mostChars: number): string {
  if (text.length <= mostChars) return text;
  const last = text.charCodeAt(mostChars - 1);
  const splits = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splits ? mostChars - 1 : mostChars);
}
