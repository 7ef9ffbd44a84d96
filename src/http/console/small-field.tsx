interface SmallFieldProps {
  name: string;
  label: string;
  value: string;
  problem: string | null;
  hint: string;
  /** Apart from others of the same name on the page. */
  id?: string;
}

/** A field of a short text. */
export function SmallField({ name, label, value, problem, hint, id = name }: SmallFieldProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        type="text"
        id={id}
        name={name}
        value={value}
        autocomplete="off"
        aria-describedby={`${id}-hint`}
        aria-invalid={problem === null ? undefined : 'true'}
      />
      <p class={problem === null ? 'hint' : 'problem'} id={`${id}-hint`}>
        {problem ?? hint}
      </p>
    </div>
  );
}
