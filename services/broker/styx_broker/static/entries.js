// Entries of the log, read from the audit service, as cells of a table.

/** Control and direction letters made visible, as everywhere in Styx. */
export const visible = (text) => String(text ?? "").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
  (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

/** When an entry's event happened, in UTC. */
export const when = (entry) => visible(entry.at).slice(0, 19).replace("T", " ");

/** What happened: the event's name. */
export const what = (entry) => visible(entry.kind ?? entry.event ?? "").replace(/^styx\.v1\.evt\./, "");

export const command = (entry) => visible((entry.command ?? []).join(" "));

const TELLING = ["verdict", "why", "state", "status", "outcome", "operation", "text", "answer", "reason"];

/** What else a person would want of an event, in one line. */
export function more(entry) {
  const told = TELLING.filter((name) => entry[name]).map((name) => visible(entry[name]));
  if ("exit_code" in entry) told.push(`exit code ${entry.exit_code}`);
  return [command(entry), ...told].filter(Boolean).join(" · ");
}

/** A row with these cells: elements, or texts that stay texts. */
export function line(cells) {
  const row = document.createElement("tr");
  row.append(...cells.map((cell) => {
    const made = document.createElement("td");
    made.append(cell);
    return made;
  }));
  return row;
}
