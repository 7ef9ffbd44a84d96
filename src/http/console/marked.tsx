/** A text with the names of fields between backticks, which become code. */
export function Marked({ text }: { text: string }) {
  return <>{text.split('`').map((part, i) => (i % 2 === 1 ? <code>{part}</code> : part))}</>;
}
