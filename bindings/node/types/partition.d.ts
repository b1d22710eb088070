// @generated from lib/partition.js by scripts/node types
/**
 * A part of a collection or a table that another thread, process or machine reads: small, and all
 * of it is in its text. `String(partition)` sends it, `new Partition(text)` receives it.
 */
export class Partition {
    /** @param {string} text */
    constructor(text: string);
    /**
     * The absolute path of the database, as the planner saw it.
     * @readonly
     * @type {string}
     */
    readonly uri: string;
    /**
     * The name of the collection or the table.
     * @readonly
     * @type {string}
     */
    readonly relation: string;
    /**
     * The number of documents or rows, before the filter.
     * @readonly
     * @type {number}
     */
    readonly rowCount: number;
    /**
     * Bytes of lines; null for tables, and where each document is a file.
     * @readonly
     * @type {number | null}
     */
    readonly size: number | null;
    /**
     * The wanted columns, and paths in them; null for all.
     * @readonly
     * @type {string[] | null}
     */
    readonly columns: string[] | null;
    /**
     * The condition of SQL, if there is one.
     * @readonly
     * @type {string | null}
     */
    readonly filter: string | null;
    /**
     * The text, which makes an equal partition.
     * @returns {string}
     */
    toString(): string;
    /** @returns {string} */
    toJSON(): string;
    #private;
}
