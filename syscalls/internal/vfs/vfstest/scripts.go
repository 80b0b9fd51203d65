package vfstest

import "strings"

// A Script is a list of operations with the answers that Linux gives to a user who is not the superuser; or to both, if
// not Unprivileged.
type Script struct {
	Name         string
	Unprivileged bool
	Text         string
}

// Scripts are what every file system has to pass.
var Scripts = []Script{
	{Name: "names", Text: `file a 644 => ok
file a 600 => EEXIST
dir d 755 => ok
dir d 755 => EEXIST
file d/f 600 => ok
stat a => file 644 1 links, 0 bytes
stat d => dir 755
stat d/f => file 600 1 links, 0 bytes
stat nothing => ENOENT
stat a/b => ENOTDIR
stat nothing/b => ENOENT
ls / => [a:file d:dir]
ls d => [f:file]
ls a => ENOTDIR
same a a => true
same a d/f => false
where d/f => /d/f
where / => /
rm d => EISDIR
rmdir a => ENOTDIR
rmdir d => ENOTEMPTY
rm nothing => ENOENT
rm d/f => ok
rmdir d => ok
stat d => ENOENT
rm a => ok
ls / => []
`},

	{Name: "long names", Text: `file ` + strings.Repeat("n", 255) + ` 644 => ok
file ` + strings.Repeat("n", 256) + ` 644 => ENAMETOOLONG
stat ` + strings.Repeat("n", 256) + ` => ENAMETOOLONG
rm ` + strings.Repeat("n", 256) + ` => ENAMETOOLONG
`},

	{Name: "data", Text: `file a 644 => ok
open h a + => ok
write h 0 hello => 5
read h 0 10 => 'hel*2 o'
read h 3 10 => 'lo'
read h 5 10 => ''
read h 50 10 => ''
write h 10000 end => 3
stat a => file 644 1 links, 10003 bytes
read h 0 20000 => 'hel*2 o.*9995 end'
cut h 4 => ok
cut h 8 => ok
read h 0 20 => 'hel*2 .*4'
write h 4096 x => 1
alloc h 3 1 2 => ok
read h 0 20000 => 'h.*2 l.*4092 x'
alloc h 0 0 5000 => ok
stat a => file 644 1 links, 5000 bytes
alloc h 1 0 9000 => ok
stat a => file 644 1 links, 5000 bytes
alloc h 3 0 8192 => ok
read h 0 9000 => '.*5000'
alloc h 0 0 0 => EINVAL
close h => ok
truncate a 3 => ok
truncate a -1 => EINVAL
stat a => file 644 1 links, 3 bytes
open h a r => ok
write h 0 no => EBADF
cut h 0 => EINVAL
open h a w => ok
read h 0 3 => EBADF
open h a +a => ok
write h 0 tail => 4
read h 0 20 => '.*3 tail'
open i a wt => ok
read h 0 20 => ''
new n b 444 + => ok
write n 0 mine => 4
new m b 644 w => EEXIST
new m c/b 644 w => ENOENT
stat b => file 444 1 links, 4 bytes
where @n => /b
`},

	{Name: "open", Text: `dir d 755 => ok
file a 644 => ok
sym a s => ok
sock k 644 => ok
open h d r => ok
read h 0 1 => EISDIR
write h 0 x => EBADF
stat @h => dir 755
open h d w => EISDIR
open h d p => ok
read h 0 1 => EBADF
open s s p => ok
stat @s => sym 777 1 links, 1 bytes
close h => ok
open h s r => ELOOP
open h k r => ENXIO
open h a rd => ENOTDIR
truncate d 0 => EISDIR
read h 0 1 => EBADF
`},

	{Name: "links", Text: `file a 644 => ok
dir d 755 => ok
link a d/b => ok
link a d/b => EEXIST
same a d/b => true
stat a => file 644 2 links, 0 bytes
open h d/b w => ok
write h 0 xyz => 3
stat a => file 644 2 links, 3 bytes
link d e => EPERM
rm a => ok
stat d/b => file 644 1 links, 3 bytes
where d/b => /d/b
sym d/b s => ok
readlink s => d/b
readlink d => EINVAL
stat s => sym 777 1 links, 3 bytes
link s t => ok
same s t => true
chmod s 600 => EOPNOTSUPP
`},

	{Name: "open files without a name", Text: `file a 644 => ok
open h a + => ok
rm a => ok
stat @h => file 644 0 links, 0 bytes
write h 0 kept => 4
read h 0 9 => 'kept'
stat @h => file 644 0 links, 4 bytes
chmod @h 600 => ok
stat @h => file 600 0 links, 4 bytes
where @h => gone
link @h b => ENOENT
file a 640 => ok
same a @h => false
file b 644 => ok
open i b + => ok
mv a b => ok
stat @i => file 644 0 links, 0 bytes
stat b => file 640 1 links, 0 bytes
temp t / + => ok
ls / => [b:file]
write t 0 new => 3
stat @t => file 600 0 links, 3 bytes
link @t c => ok
stat c => file 600 1 links, 3 bytes
same c @t => true
temp t / +x => ok
link @t d => ENOENT
temp t b + => ENOTDIR
`},

	{Name: "rename", Text: `file a 644 => ok
file b 600 => ok
dir d 755 => ok
dir e 700 => ok
file d/f 644 => ok
mv a nothing/x => ENOENT
mv nothing x => ENOENT
mvnew a b => EEXIST
mv a c => ok
stat a => ENOENT
mvnew c a => ok
mv a b => ok
stat b => file 644 1 links, 0 bytes
mv b d => EISDIR
mv d b => ENOTDIR
mv d d/x => EINVAL
mv d/f d => ENOTEMPTY
mv d e => ok
ls / => [b:file e:dir]
where e/f => /e/f
dir g 755 => ok
mv g e => ENOTEMPTY
mv e g/h => ok
where g/h/f => /g/h/f
above g/h => /g
above g => /
above / => /
mv g g/h => EINVAL
swap b g => ok
stat g => file 644 1 links, 0 bytes
where b/h/f => /b/h/f
swap b/h/f g => ok
swap b b/h => EINVAL
swap b nothing => ENOENT
link g l => ok
mv g l => ok
ls / => [b:dir g:file l:file]
`},

	{Name: "directories that went", Text: `dir d 755 => ok
dir d/e 755 => ok
rmdir d => ENOTEMPTY
rmdir d/e => ok
dir e 755 => ok
mv e d => ok
ls d => []
ls / => [d:dir]
open h d r => ok
open i d p => ok
rmdir d => ok
stat @h => dir 755
ls @h => ENOENT
where @h => gone
above @h => /
close h => ok
stat @i => dir 755
chmod @i 700 => ok
stat @i => dir 700
`},

	{Name: "attributes", Text: `file a 644 => ok
chmod a 4751 => ok
stat a => file 4751 1 links, 0 bytes
utimes a 77 99 => ok
times a => 77.5000 99.5000
utimes a - 5 => ok
times a => 77.5000 5.5000
utimes a 8 - => ok
times a => 8.5000 5.5000
dir d 1777 => ok
stat d => dir 1777
fifo p 622 => ok
stat p => fifo 622 1 links, 0 bytes
sock s 755 => ok
stat s => sock 755 1 links, 0 bytes
ls / => [a:file d:dir p:fifo s:sock]
access a 4 => ok
access d 7 => ok
`},

	{Name: "extended attributes", Text: `file a 644 => ok
getx a user.p => ENODATA
setx a user.p one 2 => ENODATA
setx a user.p one 0 => ok
setx a user.p two 1 => EEXIST
setx a user.p two 2 => ok
getx a user.p => two
setx a user.a x 1 => ok
lsx a => [user.a user.p]
rmx a user.p => ok
rmx a user.p => ENODATA
lsx a => [user.a]
sym a s => ok
setx s user.p x 0 => EPERM
getx s user.p => ENODATA
`},

	{Name: "permissions", Unprivileged: true, Text: `file a 0 => ok
open h a r => EACCES
open h a w => EACCES
truncate a 0 => EACCES
access a 4 => EACCES
chmod a 400 => ok
open h a r => ok
open h a + => EACCES
open h a rt => EACCES
dir d 755 => ok
file d/f 644 => ok
dir d/e 755 => ok
chmod d 500 => ok
stat d/f => file 644 1 links, 0 bytes
rm d/f => EACCES
file d/g 644 => EACCES
file d/f 644 => EEXIST
link a d/g => EACCES
mv a d/g => EACCES
mv d/f g => EACCES
temp t d w => EACCES
chmod d 600 => ok
ls d => [e:dir f:file]
stat d/f => EACCES
rm d/f => EACCES
chmod d 300 => ok
ls d => EACCES
file d/g 644 => ok
chmod d/e 500 => ok
mv d/e e => EACCES
mv d/e d/h => ok
setx a user.p x 0 => EACCES
chmod d 700 => ok
`},
}
