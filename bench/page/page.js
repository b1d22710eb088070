// The page's own behaviour: theme, filter, sorting, print. Without it everything is there to read.
'use strict'
const root = document.documentElement
const filter = document.getElementById('filter')
const theme = document.getElementById('theme')

// The theme: what the system says until somebody says otherwise. Storage may be refused to a file.
function stored(value) {
  try {
    if (value) localStorage.setItem('theme', value)
    return localStorage.getItem('theme')
  } catch {
    return null
  }
}
function isDark() {
  return root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
}
function named() {
  theme.textContent = isDark() ? 'Light' : 'Dark'
}
if (stored()) root.dataset.theme = stored()
theme.addEventListener('click', () => {
  root.dataset.theme = isDark() ? 'light' : 'dark'
  stored(root.dataset.theme)
  named()
})
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', named)
named()

// Every word has to be in a row, in its heading or in its section's; what has none left is hidden.
const opened = new Set()
function show() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean)
  let count = 0
  for (const section of document.querySelectorAll('section')) {
    const title = section.querySelector('h2')?.textContent ?? ''
    let left = 0
    for (const row of section.querySelectorAll('[data-find]')) {
      const text = `${title} ${row.dataset.find} ${row.textContent}`.toLowerCase()
      row.hidden = !words.every((word) => text.includes(word))
      left += row.hidden ? 0 : 1
    }
    for (const part of section.querySelectorAll('.part')) part.hidden = words.length > 0 && !part.querySelector('[data-find]:not([hidden])')
    for (const part of section.querySelectorAll('.kind')) part.hidden = words.length > 0
    section.hidden = words.length > 0 && left === 0
    count += left
    for (const details of section.querySelectorAll('details.all')) {
      if (words.length > 0 && !details.open && details.querySelector('[data-find]:not([hidden])')) {
        details.open = true
        opened.add(details)
      }
    }
  }
  if (words.length === 0) {
    for (const details of opened) details.open = false
    opened.clear()
  }
  document.getElementById('count').textContent = words.length > 0 ? `${count} rows found` : ''
}
filter.addEventListener('input', show)
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && event.target !== filter && !event.ctrlKey && !event.metaKey) {
    event.preventDefault()
    filter.focus()
  }
  if (event.key === 'Escape' && event.target === filter) {
    filter.value = ''
    show()
    filter.blur()
  }
})

// Columns sort by their value, else by their text; a second press turns the order around.
for (const table of document.querySelectorAll('table.figures')) {
  const heads = [...table.tHead.rows[0].cells]
  heads.forEach((head, column) => {
    head.firstElementChild?.addEventListener('click', () => {
      const down = head.getAttribute('aria-sort') === 'ascending'
      for (const other of heads) other.removeAttribute('aria-sort')
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending')
      const rows = [...table.tBodies[0].rows].map((row) => [row.cells[column]?.dataset.value ?? row.cells[column]?.textContent ?? '', row])
      rows.sort(([one], [other]) => {
        if (one === '' || other === '') return (one === '') - (other === '')
        const order = isNaN(one) || isNaN(other) ? String(one).localeCompare(String(other)) : one - other
        return down ? -order : order
      })
      table.tBodies[0].append(...rows.map(([, row]) => row))
    })
  })
}

// On paper everything is open.
addEventListener('beforeprint', () => document.querySelectorAll('details').forEach((details) => (details.open = true)))
